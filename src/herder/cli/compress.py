"""``herder compress`` and ``herder decompress``: sets of binary images without loss."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from herder._errors import ParameterError
from herder.cli._verb import INPUT, METHOD, Run, option, output_option, verb
from herder.core.summary import Summary

__all__ = ["compress", "decompress"]


@verb(
    example="herder compress scans/ -o scans.herd",
    outputs={"output": (".herd",)},
    inputs=("images",),
)
def compress(
    run: Run,
    images: Annotated[
        Path,
        typer.Argument(
            metavar="IMAGES",
            help="A folder of binary images of one size (raw .pbm, .png), one such file, or an "
            "array of images by rows by columns (.npy).",
        ),
    ],
    output: Annotated[Path, output_option("File for the compressed images (.herd).")],
    model: Annotated[
        Literal["auto", "chain", "combined", "mixture", "herding"],
        option(
            METHOD,
            "How pixels are predicted: from earlier pixels and images (chain), by a mixture of "
            "Bernoullis or a herding codebook, which are sent first, or by both (combined). "
            "auto takes the smaller of chain and combined, which have been the smallest.",
        ),
    ] = "auto",
    threshold: Annotated[
        float | None,
        option(INPUT, "Grey values above it are 1, all others 0.", metavar="NUMBER"),
    ] = None,
) -> Summary:
    """Compress a set of binary images of one size without loss.

    PBM files come back byte for byte, PNG files with the same pixels but other bytes, arrays with
    their shape and type. Names and order are kept. Any machine can decompress the file.
    """
    from herder.apps.codec.container import pack
    from herder.apps.codec.files import read_images

    pixels, notes = read_images(images, threshold)
    archive = pack(pixels, model, notes=notes, progress=run.progress)
    run.part(output).write_bytes(archive.data)
    return archive.summary()


@verb(
    example="herder decompress scans.herd -o scans/",
    inputs=("archive",),
    options={"data": "archive"},
)
def decompress(
    run: Run,
    archive: Annotated[
        Path, typer.Argument(metavar="FILE", help="A file of `herder compress` (.herd).")
    ],
    output: Annotated[
        Path,
        output_option("Folder for the images, which must be new or empty, or file for the one."),
    ],
) -> Summary:
    """Restore the images of a file that `herder compress` wrote."""
    from herder.apps.codec.container import read_head, unpack
    from herder.apps.codec.files import read_form, write_images

    if not archive.is_file():
        raise ParameterError("data", "be a file that exists")
    data = archive.read_bytes()
    head = read_head(data)
    form = read_form(head.notes, head.shape)
    if form.folder:
        if output.exists() and not (output.is_dir() and not any(output.iterdir())):
            raise ParameterError("output", "be a new or an empty folder", str(output))
    elif output.suffix.lower() != form.suffix or output.is_dir():
        raise ParameterError("output", f"be a file {form.suffix}", str(output))
    elif output.exists() and output.samefile(archive):
        raise ParameterError("output", "not be the input", str(output))
    part = run.part(output, folder=form.folder)
    found = unpack(data, progress=run.progress)
    write_images(found.images, form, part)
    return found.summary()
