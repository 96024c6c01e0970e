"""Reproductions of papers, one folder per paper: see `python -m papers --help`."""
