"""Papers run again: one folder per paper, see `python -m papers --help`."""
