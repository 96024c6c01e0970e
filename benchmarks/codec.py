"""The codec compared with other formats: bits per image of whole files, and CPU time.

``python benchmarks/codec.py`` needs the extra ``codec``; JBIG1 is measured where ``pbmtojbg`` is
installed (jbigkit-bin). Without names of files, every rival on the best of several layouts: bits
row by row, pixel by pixel over all images, one byte a pixel; one tall image, or one file an image
for the image formats. If HERDER_DATA names the papers' data, USPS (in its order by class, and
shuffled), its digit 8 and MNIST's test images are among the sets; nothing was tuned on MNIST and
on the printed glyphs.
``--keep`` stores the results.
"""

import bz2
import lzma
import os
import shutil
import subprocess
import sys
import time
import zlib
from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path
from string import ascii_letters, digits

os.environ["OMP_NUM_THREADS"] = "1"
os.environ["OPENBLAS_NUM_THREADS"] = "1"

import matplotlib
import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.pairing import write_results
from herder import datasets
from herder.apps.codec import decode, encode

Images = NDArray[np.uint8]

MODELS = ("chain", "combined", "mixture", "herding")

#: Compressors of bytes.
BYTES: dict[str, Callable[[bytes], bytes]] = {
    "zlib -9": lambda data: zlib.compress(data, 9),
    "bz2 -9": lambda data: bz2.compress(data, 9),
    "lzma": lambda data: lzma.compress(data, lzma.FORMAT_ALONE, preset=9 | lzma.PRESET_EXTREME),
}


def sets() -> Iterator[tuple[str, Images]]:
    """Yield binary images."""
    yield "digits 8 x 8", np.asarray(datasets.load_digits_binary().X, np.uint8).reshape(-1, 8, 8)
    yield "printed glyphs", glyphs()
    folder = os.environ.get("HERDER_DATA")
    if folder:
        usps = np.load(Path(folder, "usps_11000.npz"))
        images = (usps["X"] > 50).astype(np.uint8).reshape(-1, 16, 16)
        yield "USPS", images
        yield "USPS shuffled", images[np.random.default_rng(0).permutation(len(images))]
        yield "USPS digit 8", images[usps["y"] == 8]
        mnist = np.load(Path(folder, "mnist.npz"))["X_test"].reshape(-1, 28, 28)
        yield "MNIST test", (mnist > 127).astype(np.uint8)


def glyphs() -> Images:
    """Return letters and figures in all fonts of matplotlib, of 24 x 24 pixels."""
    found = []
    for path in sorted(Path(matplotlib.get_data_path(), "fonts/ttf").glob("*.ttf")):
        font = ImageFont.truetype(str(path), 18)
        for letter in ascii_letters + digits:
            image = Image.new("L", (24, 24), 0)
            ImageDraw.Draw(image).text((3, 1), letter, 255, font=font)
            found.append(np.asarray(image) > 127)
    return np.array(found, np.uint8)


def byte_layouts(images: Images) -> list[bytes]:
    """Return the pixels as bytes in several orders."""
    flat = images.reshape(len(images), -1)
    return [
        np.packbits(flat).tobytes(),
        np.packbits(images, axis=2).tobytes(),
        np.packbits(flat.T).tobytes(),
        flat.tobytes(),
        np.ascontiguousarray(flat.T).tobytes(),
    ]


def pictures(images: Images) -> Iterator[list[Image.Image]]:
    """Yield all images below each other, side by side, one a row, one a column, and apart."""
    n, _, width = images.shape
    flat = images.reshape(n, -1)
    wide = images.transpose(1, 0, 2).reshape(-1, n * width)
    for one in (images.reshape(-1, width), wide, flat, flat.T):
        yield [black_on_white(one)]
    yield [black_on_white(one) for one in images]


def black_on_white(pixels: Images) -> Image.Image:
    """Return an image whose ones are black."""
    return Image.fromarray((1 - pixels) * np.uint8(255)).convert("1")


def saved(image: Image.Image, form: str, **options: object) -> bytes:
    """Return an image as a file."""
    stream = BytesIO()
    image.save(stream, form, **options)
    return stream.getvalue()


def jbig(image: Image.Image) -> bytes:
    """Return an image as JBIG1, in one stripe and one layer."""
    command = ["pbmtojbg", "-q", "-s", str(image.height)]
    return subprocess.run(command, input=saved(image, "PPM"), capture_output=True).stdout


def rivals(images: Images) -> Iterator[tuple[str, int]]:
    """Yield the bytes of each rival on its best layout."""
    layouts = byte_layouts(images)
    for name, compress in BYTES.items():
        yield name, min(len(compress(data)) for data in layouts)
    writers: dict[str, Callable[[Image.Image], bytes]] = {
        "PNG": lambda image: saved(image, "PNG", optimize=True),
        "CCITT G4": lambda image: saved(image, "TIFF", compression="group4"),
    }
    if shutil.which("pbmtojbg"):
        writers["JBIG1"] = jbig
    for name, write in writers.items():
        sizes = [sum(len(write(one)) for one in some[:500]) for some in pictures(images)]
        sizes[-1] = sizes[-1] * len(images) // min(len(images), 500)
        yield name, min(sizes)


def measure(name: str, images: Images) -> Iterator[dict[str, object]]:
    """Yield the files of ours and of the rivals."""
    found: list[tuple[str, int, float, float]] = []
    for model in MODELS:
        start = time.process_time()
        data = encode(images, model)
        middle = time.process_time()
        back = decode(data)
        seconds = middle - start, time.process_time() - middle
        assert np.array_equal(back, images)
        found.append((f"herder, {model}", len(data), *seconds))
    found += [(rival, size, np.nan, np.nan) for rival, size in rivals(images)]
    best = min(size for _, size, *_ in found)
    for who, size, to, back in found:
        bits, mark = 8 * size / len(images), " *" if size == best else ""
        print(f"{name:<14} {who:<18} {size:>9,} {bits:9.2f} {to:7.1f} {back:7.1f}{mark}")
        row = {"set": name, "format": who, "bytes": size, "bits_per_image": round(bits, 2)}
        times = {} if np.isnan(to) else {"encode": round(to, 1), "decode": round(back, 1)}
        yield {**row, **times}


def main() -> None:
    """Print a table of all sets and formats."""
    encode(np.ones((200, 2, 2))), [encode(np.ones((2, 2, 2)), model) for model in MODELS]
    title = f"{'set':<14} {'format':<18} {'bytes':>9} {'bits':>9} {'to, s':>7} {'back':>7}"
    print(f"{title}  (* smallest)")
    rows = [row for name, images in sets() for row in measure(name, images)]
    if "--keep" in sys.argv:
        print(write_results("codec", rows))


if __name__ == "__main__":
    main()
