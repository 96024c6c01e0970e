"""M. Welling, R. S. Zemel and G. E. Hinton, Self supervised boosting, NIPS 15, 2002."""
