"""``herder segment``: files in and out, and what is refused."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from herder.apps.segment import files, segment
from herder.cli import app
from tests.apps.segment.drawn import drawn

IMAGE, TRIMAP, MASK = drawn(64)


def run(*words: object, code: int = 0) -> Any:
    done = CliRunner().invoke(app, ["segment", *map(str, words)])
    assert done.exit_code == code, done.output
    return done


@pytest.fixture
def given(tmp_path: Path) -> list[object]:
    """An image and its trimap, as they are typed."""
    Image.fromarray(IMAGE).save(tmp_path / "image.png")
    Image.fromarray(TRIMAP).save(tmp_path / "trimap.png")
    return [tmp_path / "image.png", "--trimap", tmp_path / "trimap.png"]


def read(path: Path) -> np.ndarray:
    with Image.open(path) as opened:
        return np.asarray(opened)


def test_it_writes_what_the_library_finds(given: list[object], tmp_path: Path) -> None:
    names = ["mask.png", "probability.png", "overlay.png", "page.html"]
    mask, probability, overlay, page = (tmp_path / name for name in names)
    files_ = ["-o", mask, "--probability", probability, "--overlay", overlay, "--report", page]
    text = run(*given, *files_).output
    found = segment(IMAGE, TRIMAP)
    np.testing.assert_array_equal(read(mask), found.mask * np.uint8(255))
    np.testing.assert_array_equal(read(probability), np.rint(255 * found.probability))
    np.testing.assert_array_equal(read(overlay), found.overlay())
    assert "64 x 64 pixels" in text.replace("\n", "")
    assert "<img" in page.read_text()
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(
        [*names, "image.png", "trimap.png"]
    )


def test_a_jpeg_with_a_turn_and_a_trimap_of_16_bits(tmp_path: Path) -> None:
    turned = Image.Exif()
    turned[0x0112] = 6  # shown after a turn to the right
    path = tmp_path / "image.jpg"
    Image.fromarray(np.rot90(IMAGE)).save(path, exif=turned, quality=95)
    deep = tmp_path / "trimap.png"
    Image.fromarray(TRIMAP.astype(np.uint16) * 257).save(deep)
    run(path, "--trimap", deep, "-o", tmp_path / "mask.png", "-q")
    assert ((read(tmp_path / "mask.png") > 0) != MASK).mean() < 0.02


@pytest.mark.parametrize("mode", ["L", "LA", "RGBA", "P", "CMYK", "I;16"])
def test_kinds_of_images(mode: str, given: list[object], tmp_path: Path) -> None:
    path = tmp_path / ("image.tif" if mode == "CMYK" else "image.png")
    if mode == "I;16":
        Image.fromarray(IMAGE[..., 0].astype(np.uint16) * 257).save(path)
    else:
        Image.fromarray(IMAGE).convert(mode).save(path)
    run(path, *given[1:], "-o", tmp_path / "mask.png")
    assert ((read(tmp_path / "mask.png") > 0) != MASK).mean() < 0.03


def test_trimaps_as_editors_save_them(given: list[object], tmp_path: Path) -> None:
    run(*given, "-o", tmp_path / "mask.png")
    first = (tmp_path / "mask.png").read_bytes()
    for mode in ("RGB", "RGBA", "P"):
        Image.fromarray(TRIMAP).convert(mode).save(tmp_path / "trimap.png")
        run(*given, "-o", tmp_path / "mask.png")
        assert (tmp_path / "mask.png").read_bytes() == first


def refused(words: list[object], tmp_path: Path) -> str:
    before = sorted(tmp_path.iterdir())
    done = run(*words, "-o", tmp_path / "mask.png", code=2)
    assert sorted(tmp_path.iterdir()) == before
    assert len(done.stderr.splitlines()) == 1
    return done.stderr


def test_trimaps_that_are_refused(given: list[object], tmp_path: Path) -> None:
    path = tmp_path / "trimap.png"
    wrong: dict[str, np.ndarray] = {
        "--trimap must be of the size 64 x 64, got 64 x 63": TRIMAP[1:],
        "--trimap must be grey, got the colour": IMAGE,
        "foreground (255), got 0, 128": np.where(TRIMAP == 255, 128, TRIMAP).astype(np.uint8),
        "greys near 0, 64": np.where(TRIMAP == 128, 200, TRIMAP).astype(np.uint8),
        "--trimap must have no transparent": np.stack([TRIMAP, TRIMAP // 2], axis=2),
        "--trimap must have 8 or 16 bits": TRIMAP.astype(np.float32),
    }
    for text, pixels in wrong.items():
        own = path.with_suffix(".tif") if pixels.dtype == np.float32 else path
        Image.fromarray(pixels).save(own)
        assert text in refused([given[0], "--trimap", own], tmp_path), text
    assert "--trimap must name a file" in refused([given[0], "--trimap", "none.png"], tmp_path)


def test_images_that_are_refused(given: list[object], tmp_path: Path) -> None:
    path = tmp_path / "other.png"
    path.write_bytes(b"GIF89a")
    assert f"{path} must be an image, got" in refused([path, *given[1:]], tmp_path)
    path.write_bytes(Path(str(given[0])).read_bytes()[:300])
    assert f"{path} must be an image, got" in refused([path, *given[1:]], tmp_path)
    none = tmp_path / "none.png"
    assert f"{none} must name a file that exists" in refused([none, *given[1:]], tmp_path)
    Image.fromarray(IMAGE[..., 0].astype(np.float32)).save(tmp_path / "deep.tif")
    deep = [tmp_path / "deep.tif", *given[1:]]
    assert "must have 8 or 16 bits" in refused(deep, tmp_path)


def test_a_large_image_is_refused_before_it_is_read(
    given: list[object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "MAX_PIXELS", 4000)
    assert "have at most 4,000 pixels" in refused(given, tmp_path)


def test_the_mask_is_not_the_input(given: list[object]) -> None:
    done = run(*given, "-o", given[0], code=2)
    assert "--output must not be the input" in done.stderr
