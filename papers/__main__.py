"""Reproduce the results of papers and compare with the published numbers.

A full run reads the papers' data sets from the folder named by HERDER_DATA, writes
papers/NAME/results.json and regenerates docs/papers.md. A quick run uses bundled data and writes
only to the temporary folder.
"""

import argparse
import sys
from collections.abc import Sequence

from papers.runner import find_papers, rewrite_page, run_paper


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the requested papers; the exit code is 1 if one could not run."""
    parser = argparse.ArgumentParser(
        "python -m papers",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        usage="python -m papers [NAME] [--quick] [--only PART] | --page",
    )
    parser.add_argument(
        "name",
        nargs="?",
        metavar="NAME",
        help="a folder of papers/, or a prefix of its name; default: all",
    )
    parser.add_argument("--quick", action="store_true", help="small sizes, on bundled data only")
    parser.add_argument("--only", metavar="PART", help="one table or figure, such as table1")
    parser.add_argument(
        "--page", action="store_true", help="make docs/papers.md from stored results, run nothing"
    )
    options = parser.parse_args(arguments)
    folders = [f for f in find_papers() if f.name.startswith(options.name or "")]
    if not folders:
        known = ", ".join(folder.name for folder in find_papers())
        print(f"NAME must be one of {known}, got {options.name!r}", file=sys.stderr)
        return 1
    try:
        if options.page:
            rewrite_page()
            return 0
        for folder in folders:
            run_paper(folder, quick=options.quick, only=options.only)
    except (FileNotFoundError, ValueError) as problem:
        print(problem, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
