import filecmp
import zlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from herder.apps.codec import container, encode
from herder.cli import app


def run(*words: object, code: int = 0) -> str:
    done = CliRunner().invoke(app, [str(word) for word in words])
    assert done.exit_code == code, done.output
    return done.output


def images(n: int = 30, height: int = 9, width: int = 13) -> np.ndarray:
    rng = np.random.default_rng(0)
    shape = rng.random((height, width)) < 0.4
    return (rng.random((n, height, width)) < 0.1) ^ shape


def write_pbm(path: Path, image: np.ndarray, header: bytes | None = None) -> None:
    height, width = image.shape
    header = b"P4\n%d %d\n" % (width, height) if header is None else header
    path.write_bytes(header + np.packbits(image, axis=1).tobytes())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "in"
    path.mkdir()
    headers = [None, b"P4 13 9 ", b"P4\n# made by hand \xe9\n13\t#w\n9\n", b"P4\r\n13\r\n9\n"]
    for k, image in enumerate(images()):
        write_pbm(path / f"{k:03d} é.pbm", image, headers[k % 4])
    return path


@pytest.mark.parametrize("model", ["auto", "chain", "combined", "mixture", "herding"])
def test_pbm_files_come_back_byte_for_byte(folder: Path, tmp_path: Path, model: str) -> None:
    packed, out = tmp_path / "x.herd", tmp_path / "out"
    text = run("compress", folder, "-o", packed, "--model", model)
    assert "30 images of 13 x 9 pixels" in text
    assert "PNG" in text
    assert "zlib" in text
    out.mkdir()  # an empty folder may be there
    run("decompress", packed, "-o", out)
    names = sorted(path.name for path in folder.iterdir())
    assert sorted(path.name for path in out.iterdir()) == names
    assert filecmp.cmpfiles(folder, out, names, shallow=False)[0] == names
    assert "new or an empty folder" in run("decompress", packed, "-o", out, code=2)
    assert not list(tmp_path.glob(".herder*"))


def test_png_files_keep_their_pixels(tmp_path: Path) -> None:
    folder, packed, out = tmp_path / "in", tmp_path / "x.herd", tmp_path / "out"
    folder.mkdir()
    for k, image in enumerate(images(5)):
        Image.fromarray(image.astype(np.uint8) * np.uint8(255)).save(folder / f"{k}.png")
    write_pbm(folder / "5.pbm", images(1)[0])
    run("compress", folder, "-o", packed)
    run("decompress", packed, "-o", out)
    for k, image in enumerate(images(5)):
        assert np.array_equal(np.asarray(Image.open(out / f"{k}.png")), image)
    assert (out / "5.pbm").read_bytes() == (folder / "5.pbm").read_bytes()


@pytest.mark.parametrize("dtype", ["bool", "int8", "<f4", "uint8"])
@pytest.mark.parametrize("n", [None, 0, 1, 4])
def test_arrays_come_back_as_they_were(tmp_path: Path, dtype: str, n: int | None) -> None:
    array = images(n or 0).astype(dtype) if n is not None else images(1)[0].astype(dtype)
    np.save(tmp_path / "a.npy", array)
    run("compress", tmp_path / "a.npy", "-o", tmp_path / "a.herd")
    run("decompress", tmp_path / "a.herd", "-o", tmp_path / "b.npy")
    assert (tmp_path / "a.npy").read_bytes() == (tmp_path / "b.npy").read_bytes()


@pytest.mark.parametrize("suffix", [".pbm", ".png"])
def test_one_file(tmp_path: Path, suffix: str) -> None:
    write_pbm(tmp_path / "a.pbm", images()[0])
    Image.open(tmp_path / "a.pbm").save(tmp_path / "a.png")
    run("compress", tmp_path / f"a{suffix}", "-o", tmp_path / "a.herd")
    run("decompress", tmp_path / "a.herd", "-o", tmp_path / f"b{suffix}")
    found, before = (np.asarray(Image.open(tmp_path / f"{x}{suffix}")) for x in "ba")
    assert np.array_equal(found, before)
    text = run("decompress", tmp_path / "a.herd", "-o", tmp_path / "b.npy", code=2)
    assert f"--output must be a file {suffix}" in text


def test_an_empty_folder(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    run("compress", tmp_path / "in", "-o", tmp_path / "a.herd")
    run("decompress", tmp_path / "a.herd", "-o", tmp_path / "out")
    assert list((tmp_path / "out").iterdir()) == []


def test_files_of_python_become_arrays(tmp_path: Path) -> None:
    (tmp_path / "a.herd").write_bytes(encode(images(3)))
    run("decompress", tmp_path / "a.herd", "-o", tmp_path / "a.npy")
    assert np.array_equal(np.load(tmp_path / "a.npy"), images(3))


def test_grey_images_need_a_threshold(tmp_path: Path) -> None:
    grey = np.random.default_rng(0).integers(0, 256, (6, 7), dtype=np.uint8)
    Image.fromarray(grey).save(tmp_path / "a.png")
    np.save(tmp_path / "a.npy", grey)
    for suffix in ("png", "npy"):
        source, packed, out = (
            tmp_path / f"a.{suffix}",
            tmp_path / "a.herd",
            tmp_path / f"b.{suffix}",
        )
        text = run("compress", source, "-o", packed, code=2)
        assert "--threshold must be given" in text
        run("compress", source, "-o", packed, "--threshold", 99.5)
        run("decompress", packed, "-o", out)
        found = np.load(out) if suffix == "npy" else np.asarray(Image.open(out))
        assert np.array_equal(found > 0, grey > 99.5)


def broken(name: str, folder: Path) -> str:
    """Put a file that must be refused into a folder; return what is said of it."""
    image, path = images()[0], folder / "zzz.pbm"
    if name == "padding":
        path.write_bytes(b"P4\n13 9\n" + b"\xff" * 18)
        return "zeros after the end of each row"
    if name == "size":
        write_pbm(path, image[1:])
        return "be of one size"
    if name == "plain PBM":
        path.write_bytes(b"P1\n1 1\n0\n")
        return "raw PBM"
    if name == "text":
        (folder / "zzz.txt").write_text("x")
        return "only"
    if name == "folder":
        path.mkdir()
        return "only"
    if name == "PNG":
        (folder / "zzz.png").write_bytes(b"\x89PNG\r\n\x1a\n")
        return "be PNG"
    write_pbm(path, image)
    path.write_bytes(path.read_bytes() + b"x" if name == "long" else path.read_bytes()[:-1])
    return "one whole image each"


@pytest.mark.parametrize(
    "name", ["padding", "size", "plain PBM", "text", "folder", "PNG", "long", "short"]
)
def test_files_that_would_not_come_back_are_refused(
    folder: Path, tmp_path: Path, name: str
) -> None:
    said = broken(name, folder)
    text = run("compress", folder, "-o", tmp_path / "x.herd", code=2)
    assert said in " ".join(text.split())
    assert "zzz" in text
    assert not (tmp_path / "x.herd").exists()


def test_a_missing_or_damaged_file_is_refused(folder: Path, tmp_path: Path) -> None:
    packed, out = tmp_path / "x.herd", tmp_path / "out"
    run("decompress", packed, "-o", out, code=2)
    run("compress", tmp_path / "nothing", "-o", packed, code=2)
    run("compress", folder, "-o", packed, "--model", "chain")
    packed.write_bytes(packed.read_bytes()[:-2])
    assert "x.herd must be a whole file" in run("decompress", packed, "-o", out, code=2)
    assert not out.exists()


@pytest.mark.parametrize(
    "notes",
    [
        b"x",
        b'{"names": ["../a.pbm", "b.pbm"], "folder": true, "headers": {}}',
        b'{"names": ["/a.pbm", "b.pbm"], "folder": true, "headers": {}}',
        b'{"names": ["a.pbm", "a.pbm"], "folder": true, "headers": {}}',
        b'{"names": ["a.pbm"], "folder": true, "headers": {}}',
        b'{"names": ["a.pbm", "b.pbm"], "folder": false, "headers": {}}',
        b'{"names": ["a.sh", "b.pbm"], "folder": true, "headers": {}}',
        b'{"names": ["a.pbm", "b.pbm"], "folder": true, "headers": {"0": 5}}',
        b'{"dtype": "O", "ndim": 3}',
        b'{"dtype": "u1", "ndim": 2}',
        b"[]",
        b"{}",
    ],
)
def test_strange_notes_are_refused(tmp_path: Path, notes: bytes) -> None:
    data = container.pack(images(2), "chain", notes=zlib.compress(notes)).data
    (tmp_path / "a.herd").write_bytes(data)
    text = run("decompress", tmp_path / "a.herd", "-o", tmp_path / "o", code=2)
    assert "notes are strange" in text
    assert [path.name for path in tmp_path.iterdir()] == ["a.herd"]
