"""Samplers of discrete models: Gibbs, herded Gibbs, Swendsen-Wang."""
