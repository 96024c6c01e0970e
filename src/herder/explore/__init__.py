"""The page of ``herder explore``: what it shows is computed here and streamed to a browser."""
