import math
import zlib
from base64 import b85decode
from contextlib import suppress
from decimal import Decimal
from hashlib import sha256

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from herder import ParameterError
from herder.apps.codec import container, decode, encode, fixed
from herder.apps.codec.coder import Encoder
from herder.apps.codec.container import MODELS
from herder.datasets import load_digits_binary

#: Bytes before the payload: 14, the number of images in 2, height, width, notes in 1 each.
HEADER = 19


def digits(n: int = 1797) -> np.ndarray:
    return np.asarray(load_digits_binary().X, np.uint8).reshape(-1, 8, 8)[:n]


@st.composite
def image_sets(draw: st.DrawFn) -> np.ndarray:
    n, height, width = draw(st.integers(0, 24)), draw(st.integers(1, 9)), draw(st.integers(1, 19))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    share = draw(st.sampled_from([0.0, 0.02, 0.5, 0.9, 1.0]))
    noise = rng.random((n, height, width)) < share
    images = noise ^ (rng.random((1, height, width)) < draw(st.sampled_from([0.0, 0.5])))
    return images.astype(np.uint8)


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(images=image_sets(), model=st.sampled_from(["auto", *MODELS]))
def test_images_come_back_bit_for_bit(images: np.ndarray, model: str) -> None:
    back = decode(encode(images, model))
    assert back.dtype == np.uint8
    assert np.array_equal(back, images)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("shape", [(1, 1, 1), (1, 3, 17), (2, 40, 30), (300, 5, 5), (1, 1, 3000)])
def test_odd_sizes(model: str, shape: tuple[int, int, int]) -> None:
    images = (np.random.default_rng(0).random(shape) < 0.3).astype(bool)
    assert np.array_equal(decode(encode(images, model)), images)


@pytest.mark.parametrize("model", MODELS)
def test_every_model_is_smaller_than_the_raw_pixels(model: str) -> None:
    images = digits(500)
    data = encode(images, model)
    assert np.array_equal(decode(data), images)
    packed = np.packbits(images).tobytes()
    if model != "herding":
        assert len(data) < len(zlib.compress(packed, 9))
    assert len(data) < len(packed)


def test_auto_takes_the_smallest() -> None:
    archive = container.pack(digits(300))
    assert set(archive.sizes) == set(container.TRIED)
    assert len(archive.data) == min(archive.sizes.values())
    assert container.unpack(archive.data).model == archive.model
    assert "bits per image" in str(archive.summary())


def test_white_images_cost_nearly_nothing() -> None:
    assert len(encode(np.zeros((3000, 8, 8)))) < 40


@pytest.mark.parametrize("model", MODELS)
def test_the_payload_is_as_long_as_the_probabilities_say(
    model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Parameters included, within 0.1 % and the last two words."""
    images, costs = digits(500 if model == "herding" else 1797), []

    class Counting(Encoder):
        def code(self, p, bits):
            assert bits is not None
            assert ((p > 0) & (p < fixed.ONE)).all()
            costs.append(-np.log2(np.where(bits, p, fixed.ONE - p) / fixed.ONE).sum())
            return super().code(p, bits)

    monkeypatch.setattr(container, "Encoder", Counting)
    n_bits, ideal = 8 * (len(encode(images, model)) - HEADER), math.fsum(costs)
    assert ideal - 32 < n_bits < 1.001 * ideal + 64


def test_the_logistic_table_is_rounded_correctly() -> None:
    table = fixed.squash_table()
    assert len(table) == 2 * fixed.MAX_LOGIT + 1
    for k in range(0, len(table), 97):
        x = Decimal(k - fixed.MAX_LOGIT) / fixed.LOGIT_UNIT
        exact = fixed.ONE / (1 + (-x).exp())
        assert abs(table[k] - exact) <= Decimal("0.5000001")
    assert (np.diff(fixed.stretch_table()) >= 0).all()


def test_the_bytes_of_a_file_are_pinned() -> None:
    """A changed file of the same images cannot be read by the version before: see CHANGELOG."""
    assert sha256(encode(digits(200), "chain")).hexdigest()[:8] == "a5cf0ad5"


#: The first three digits, as files of this version of the format.
FILES = {
    "chain": ("NJUaa0R_|S&^^eZKL7&=2mqXJc24i(5(Xck-y`z82tvdRIJy"),
    "combined": (
        "NJUaa0m51cQ9a0^KLG;>2mm8yP5>>XOGSjSUyiWId&R-2f}>^u0Ph%6RaGYx007(T|NkpF)9uhHS7=2{%Lf"
    ),
    "mixture": (
        "NJUaa0dnGkWj)BDKLP^?2mm8yP5>>XOGSjSUyiWId&R-2f}>^u0Ph%6RaGYx004mA|Nl{h^-0`JDkL`1r-l"
    ),
    "herding": (
        "NJUaa0jr^bNj=D+KLY~@2mn!uCP1M={zSzMu-kInZ+hDWe4*}7HVVM&2wj$`595?g)3zHygA#$UMoE2^S+LY"
        "JR;h0!dBec1x5|75(%*B9OEF;pxP#r6(o2IY`VvRc^q2"
    ),
}


@pytest.mark.parametrize("model", MODELS)
def test_files_of_this_version_are_read_for_ever(model: str) -> None:
    assert np.array_equal(decode(b85decode(FILES[model])), digits(3))


@pytest.mark.parametrize("model", MODELS)
def test_any_damage_is_an_error(model: str) -> None:
    data = encode(digits(12), model)
    for k in range(len(data)):
        for other in (data[k] ^ 1, data[k] ^ 0x80, 255 - data[k]):
            with pytest.raises(ParameterError, match="data must be a whole file"):
                decode(data[:k] + bytes([other]) + data[k + 1 :])
        with pytest.raises(ParameterError, match="data must be a whole file"):
            decode(data[:k])
    with pytest.raises(ParameterError, match="data must be a whole file"):
        decode(data + b"\0")


@pytest.mark.parametrize("model", MODELS)
def test_damage_with_a_checksum_that_fits_is_an_error_or_other_images(model: str) -> None:
    """As somebody would forge it: no other error, no more images than the header claims."""
    data = encode(digits(3), model)
    changes = [(k, one) for k in range(13, len(data)) for one in (1, 0x80, 0xFF)]
    for k, change in changes[:: 1 if model == "chain" else 7]:
        rest = data[9:k] + bytes([data[k] ^ change]) + data[k + 1 :]
        with suppress(ParameterError):
            found = decode(container.MAGIC + zlib.crc32(rest).to_bytes(4, "little") + rest)
            assert np.isin(found, (0, 1)).all()


def forged(number: int, n: int, height: int, width: int, payload: bytes, notes: int = 0) -> bytes:
    sizes = b"".join(map(container._varint, (n, height, width, notes)))
    rest = bytes(4) + bytes([number]) + sizes + payload
    return container.MAGIC + zlib.crc32(rest).to_bytes(4, "little") + rest


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"HERD",
        b"HERD\x02" + bytes(40),
        b"\x89PNG" + bytes(40),
        forged(0, 10**9, 16, 16, bytes(400)),
        forged(0, 10**6, 1000, 1000, bytes(4000)),
        forged(0, 1, 2**30, 2**30, bytes(4)),
        forged(0, 1, 0, 5, bytes(4)),
        forged(0, 0, 2**30, 2**30, b""),
        forged(0, 2**24 + 1, 1, 1, bytes(400)),
        forged(0, 1, 2**24 + 1, 1, bytes(400)),
        forged(0, 1, 5, 5, b""),
        *(forged(k, 3, 5, 5, b"\xff" * 400) for k in range(len(MODELS))),
        *(forged(k, 3, 5, 5, bytes(400)) for k in range(len(MODELS))),
        forged(200, 1, 5, 5, bytes(4)),
        forged(0, 1, 5, 5, bytes(3)),
        forged(0, 1, 5, 5, bytes(4), notes=10**9),
        forged(0, 1, 5, 5, bytes(8)),
        *(forged(k, 1, 4096, 4096, b"\xff" * 400) for k in range(1, len(MODELS))),
    ],
)
def test_foreign_files_and_claims_are_refused_at_once(data: bytes) -> None:
    with pytest.raises(ParameterError, match="data must be a whole file"):
        decode(data)


@pytest.mark.parametrize(
    "images", [[[0, 1]], [[[0, 2]]], [[["a"]]], np.zeros((2, 0, 3)), [[[0.5]]], [[[np.nan]]]]
)
def test_bad_images_are_refused(images: object) -> None:
    with pytest.raises(ParameterError, match="images must"):
        encode(images)  # type: ignore[arg-type]


def test_bad_kinds_are_refused() -> None:
    with pytest.raises(ParameterError, match="model must be one of"):
        encode([[[0]]], "best")
    with pytest.raises(ParameterError, match="data must be bytes"):
        decode("HERD")  # type: ignore[arg-type]
