import filecmp
import zlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from herder.apps.codec import container, encode, files
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


@pytest.mark.parametrize("mode", ["P", "RGB", "LA", "I;16"])
def test_other_kinds_of_png(tmp_path: Path, mode: str) -> None:
    """Their grey values are compared as they are, 16 bits included."""
    image = images(1)[0]
    if mode == "I;16":
        made = Image.fromarray(np.where(image, 30_000, 20_000).astype(np.uint16))
    else:
        made = Image.fromarray(image.astype(np.uint8) * np.uint8(255)).convert(mode)
    made.save(tmp_path / "a.png")
    with Image.open(tmp_path / "a.png") as again:
        assert again.mode == mode
    words = "compress", tmp_path / "a.png", "-o", tmp_path / "a.herd"
    assert "--threshold must be given" in run(*words, code=2)
    run(*words, "--threshold", 25_000 if mode == "I;16" else 128)
    run("decompress", tmp_path / "a.herd", "-o", tmp_path / "b.png")
    assert np.array_equal(np.asarray(Image.open(tmp_path / "b.png")), image)


@pytest.mark.parametrize("threshold", ["nan", "inf", "-inf"])
def test_a_threshold_is_a_number(tmp_path: Path, threshold: str) -> None:
    np.save(tmp_path / "a.npy", images(1))
    words = "compress", tmp_path / "a.npy", "-o", tmp_path / "a.herd", "--threshold", threshold
    assert "--threshold must be finite" in run(*words, code=2)


def test_numbers_that_are_missing_are_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.full((1, 2, 2), np.nan))
    words = "compress", tmp_path / "a.npy", "-o", tmp_path / "a.herd", "--threshold", 0.5
    assert "NaN" in run(*words, code=2)


def npy(header: str) -> bytes:
    """Return a file of that header and no values."""
    return b"\x93NUMPY\x01\0" + len(header).to_bytes(2, "little") + header.encode()


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"text",
        b"PK\x03\x04 not an archive of arrays",
        npy("{'descr': '|u1', 'fortran_order': False, 'shape': (1000000000, 1000, 1000)}\n"),
        npy("{'descr': '|u1', 'fortran_order': False, 'shape': (2, 5, 7)}\n"),
        npy("{'descr': '|u1', 'fortran_order': False, 'shape': (2, 5,\n"),
        npy("{'descr': '|u1, (', 'fortran_order': False, 'shape': (2, 5, 7)}\n"),
        npy("{'descr': '|O', 'fortran_order': False, 'shape': (2, 5, 7)}\n"),
    ],
)
def test_broken_arrays_are_refused(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "a.npy").write_bytes(data)
    text = run("compress", tmp_path / "a.npy", "-o", tmp_path / "a.herd", code=2)
    assert "a.npy must be an array" in " ".join(text.split())


@pytest.mark.parametrize("shape", [(), (9,), (1, 2, 3, 4), (2, 0, 3), (0, 3)])
def test_arrays_of_other_shapes_are_refused(tmp_path: Path, shape: tuple[int, ...]) -> None:
    np.save(tmp_path / "a.npy", np.zeros(shape))
    text = run("compress", tmp_path / "a.npy", "-o", tmp_path / "a.herd", code=2)
    assert "a.npy must be an array of" in " ".join(text.split())


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
    assert "x.herd must be a file that exists" in run("decompress", packed, "-o", out, code=2)
    text = run("compress", tmp_path / "nothing", "-o", packed, code=2)
    assert "nothing must exist" in " ".join(text.split())
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
        b'{"names": ["a\\\\b.pbm", "b.pbm"], "folder": true, "headers": {}}',
        b'{"names": ["..", "b.pbm"], "folder": true, "headers": {}}',
        b'{"names": ["./a.pbm", "b.pbm"], "folder": true, "headers": {}}',
        b'{"names": ["a\\u0000.pbm", "b.pbm"], "folder": true, "headers": {}}',
        b'{"names": ["\\ud800.pbm", "b.pbm"], "folder": true, "headers": {}}',
        b'{"names": [["a.pbm"], "b.pbm"], "folder": true, "headers": {}}',
        b'{"names": {"a.pbm": 0, "b.pbm": 1}, "folder": true, "headers": {}}',
        b'{"names": ["a.pbm", "b.pbm"], "folder": 1, "headers": {}}',
        b'{"names": ["a.pbm", "b.pbm"], "folder": true, "headers": {"0": "\\u20ac"}}',
        b'{"names": ["a.pbm", "b.pbm"], "folder": true, "headers": {"0": "P4 999 9 "}}',
        b'{"names": ["a.pbm", "b.pbm"], "folder": true, "headers": {}, "more": 1}',
        b'{"names": ["a.pbm", "b.pbm"], "folder": true}',
        b'{"dtype": "O", "ndim": 3}',
        b'{"dtype": "i4, (", "ndim": 3}',
        b'{"dtype": "f3", "ndim": 3}',
        b'{"dtype": null, "ndim": 3}',
        b'{"dtype": "u1", "ndim": 3.0}',
        b"[" * 100_000,
        b'{"names": [' + b" " * 2**24 + b"]}",
        b'{"dtype": "u1", "ndim": 2}',
        b"[]",
        b"{}",
    ],
)
def test_forged_notes_are_refused(tmp_path: Path, notes: bytes) -> None:
    data = container.pack(images(2), "chain", notes=zlib.compress(notes)).data
    (tmp_path / "a.herd").write_bytes(data)
    text = run("decompress", tmp_path / "a.herd", "-o", tmp_path / "o", code=2)
    assert "headers of files are invalid" in " ".join(text.split())
    assert [path.name for path in tmp_path.iterdir()] == ["a.herd"]


def test_odd_names_are_kept(tmp_path: Path) -> None:
    folder, packed, out = tmp_path / "in", tmp_path / "x.herd", tmp_path / "out"
    folder.mkdir()
    names = {"-o.pbm", "~.pbm", "a b.pbm", "a\n\x1b[1m.pbm", "\udcff.pbm", "C.PBM", "c.pbm"}
    names = {name for name in names if write_or_not(folder / name)}
    assert "a b.pbm" in names
    run("compress", folder, "-o", packed)
    run("decompress", packed, "-o", out)
    assert {path.name for path in out.iterdir()} == {path.name for path in folder.iterdir()}


def write_or_not(path: Path) -> bool:
    """Write an image, unless the file system does not know such names."""
    try:
        write_pbm(path, images(1)[0])
    except (OSError, ValueError):
        return False
    return True


def test_a_name_that_could_not_be_restored_is_refused(folder: Path, tmp_path: Path) -> None:
    write_pbm(folder / "a\\b.pbm", images(1)[0])
    text = run("compress", folder, "-o", tmp_path / "x.herd", code=2)
    assert "must have names without a backslash" in " ".join(text.split())


def test_names_that_take_too_much_room_are_refused(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "MAX_NOTES", 300)
    text = run("compress", folder, "-o", tmp_path / "x.herd", code=2)
    assert "must have names and headers of at most 300 bytes" in " ".join(text.split())


def test_no_file_is_written_over_another(tmp_path: Path) -> None:
    """Some systems take A.pbm and a.pbm for one file: nothing may be lost unnoticed."""
    form = files.FilesForm(True, ["a.pbm", "b.pbm"], {})
    write_pbm(tmp_path / "b.pbm", images(1)[0])
    before = (tmp_path / "b.pbm").read_bytes()
    with pytest.raises(FileExistsError):
        files.write_images(images(2).astype(np.uint8)[::-1], form, tmp_path)
    assert (tmp_path / "b.pbm").read_bytes() == before


def test_an_error_while_files_are_written_leaves_none(tmp_path: Path) -> None:
    names = ["a.pbm", "b" * 300 + ".pbm"]
    notes = files._pack_form(files.FilesForm(True, names, {}))
    data = container.pack(images(2), "chain", notes=notes).data
    (tmp_path / "a.herd").write_bytes(data)
    assert "too long" in run("decompress", tmp_path / "a.herd", "-o", tmp_path / "o", code=2)
    assert [path.name for path in tmp_path.iterdir()] == ["a.herd"]


def test_the_output_is_looked_at_before_pixels_are_decoded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(container, "unpack", None)  # must not be called
    notes = files._pack_form(files.FilesForm(False, ["x.pbm"], {}))
    (tmp_path / "a.pbm").write_bytes(container.pack(images(1), "chain", notes=notes).data)
    for output, text in {
        "a.pbm": "not be the input",
        "b.png": "be a file .pbm",
        "no/b.pbm": "lie in a folder that exists",
    }.items():
        said = run("decompress", tmp_path / "a.pbm", "-o", tmp_path / output, code=2)
        assert f"--output must {text}" in " ".join(said.split())
    assert [path.name for path in tmp_path.iterdir()] == ["a.pbm"]
