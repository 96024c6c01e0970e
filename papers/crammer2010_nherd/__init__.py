"""K. Crammer and D. D. Lee, Learning via Gaussian herding, NIPS 2010."""
