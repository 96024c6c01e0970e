"""A. Hyvarinen, Consistency of pseudolikelihood estimation of fully visible Boltzmann machines."""
