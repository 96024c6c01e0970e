"""Y. Chen, Herding: driving deterministic dynamics, thesis, section 4.2 (kernel herding)."""
