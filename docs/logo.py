"""Draw the logo and the favicon of the site: ``python docs/logo.py``.

Grey points of a disc, and the few that `herder.thin` selects among them. Writes
_static/logo.svg and _static/favicon.svg.
"""

from pathlib import Path

import numpy as np

from herder import thin

HERD, REST = "#14958a", "#9aa5b1"  # both can be seen on white and on black


def draw(n_points: int, n_select: int, sizes: tuple[float, float]) -> str:
    """Return a picture of points in a disc, 64 by 64, with the selected ones in colour."""
    k = np.arange(n_points) + 0.5
    angle = np.pi * (1 + np.sqrt(5)) * k  # a sunflower: even, without a grid
    points = 32 + 29 * np.sqrt(k / n_points)[:, None] * np.column_stack(
        [np.cos(angle), np.sin(angle)]
    )
    chosen = set(thin(points, n_select).indices.tolist())
    dots = [
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{sizes[i in chosen]:g}" '
        f'fill="{HERD if i in chosen else REST}"/>'
        for i, (x, y) in enumerate(points)
    ]
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 64 64" width="64" height="64">\n'
        + "\n".join(dots)
        + "\n</svg>\n"
    )


if __name__ == "__main__":
    folder = Path(__file__).parent / "_static"
    (folder / "logo.svg").write_text(draw(90, 12, (1.6, 4.2)), encoding="utf-8")
    (folder / "favicon.svg").write_text(draw(30, 7, (2.6, 6.5)), encoding="utf-8")
