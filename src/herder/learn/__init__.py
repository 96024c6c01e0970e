"""Learning of random fields from rows of states."""
