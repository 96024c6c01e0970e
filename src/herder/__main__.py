"""``python -m herder`` is the command ``herder``."""

from herder.cli import main

if __name__ == "__main__":
    main()
