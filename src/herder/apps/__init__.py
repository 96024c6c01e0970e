"""Applications on top of the families; each imports what it needs when it is used."""
