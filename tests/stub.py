"""The stub of `herder`, from its table of names: ``python tests/stub.py`` writes it."""

from pathlib import Path

import herder

STUB = Path(herder.__file__).with_suffix(".pyi")

OTHERS = ("__version__: str", "_NAMES: dict[str, str]", "_HOME: dict[str, str]")


def stub_text() -> str:
    """Return what ``__init__.pyi`` must hold: the form that type checkers read."""
    imports = [
        f"from herder.{module} import {name} as {name}"
        for module, names in herder._NAMES.items()
        for name in names.split()
    ]
    head = "# Made by tests/stub.py from the table in __init__.py."
    return "\n".join([head, *imports, "", *OTHERS, ""])


if __name__ == "__main__":
    STUB.write_text(stub_text(), encoding="utf-8")
