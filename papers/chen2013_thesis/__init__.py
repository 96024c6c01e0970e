"""Y. Chen, Herding: driving deterministic dynamics, thesis, sections 2.3, 2.5, 4.1 and 4.2."""
