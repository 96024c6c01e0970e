"""M. Welling, Herding dynamical weights to learn, ICML 2009."""
