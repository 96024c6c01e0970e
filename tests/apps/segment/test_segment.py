"""Segmentation of a drawn image, and the parts of it."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import nnls

from herder.apps.segment import boundaries, edges, segment, segmentation
from herder.apps.segment.colours import colour_evidence
from herder.apps.segment.inputs import as_colours, as_trimap
from herder.apps.segment.local import LocalModel, herd_local
from herder.apps.segment.superpixels import borders_of, means_of, superpixels
from tests.apps.segment.drawn import drawn
from tests.naming import refuses

IMAGE, TRIMAP, MASK = drawn()
UNKNOWN = TRIMAP == 128


@pytest.fixture(scope="module")
def found() -> Any:
    return segment(IMAGE, TRIMAP)


def error(mask: np.ndarray) -> float:
    return float((mask != MASK)[UNKNOWN].mean())


def test_few_pixels_are_wrong(found: Any) -> None:
    assert error(found.mask) < 0.01
    assert found.mask.dtype == bool
    np.testing.assert_array_equal(found.mask, found.probability > 0.5)
    np.testing.assert_array_equal(found.probability[~UNKNOWN], TRIMAP[~UNKNOWN] == 255)
    np.testing.assert_array_equal(found.image, IMAGE)
    chances = found.probability[UNKNOWN]
    loss = -np.log(np.clip(np.where(MASK[UNKNOWN], chances, 1 - chances), 0.01, 1)).mean()
    assert loss < 0.1


def test_boundaries_are_probable_where_labels_change(found: Any) -> None:
    n = found.superpixels.max() + 1
    assert found.pairs.min() == 0
    assert found.pairs.max() == n - 1
    assert found.boundary.shape == (len(found.pairs),)
    within = means_of(MASK[..., None].astype(float), found.superpixels)[:, 0]
    ends = within[found.pairs]
    between, inside = np.abs(np.diff(ends, axis=1))[:, 0] == 1, (np.ptp(ends, axis=1) == 0)
    assert found.boundary[between].mean() > 0.6
    assert found.boundary[inside].mean() < 0.15
    shown = found.boundary_map()
    assert shown.shape == MASK.shape
    assert shown.max() == found.boundary.max()


def test_the_same_image_in_other_types(found: Any) -> None:
    for image in (IMAGE / 255, IMAGE.astype(np.uint16) * 257, IMAGE.astype(np.int64)):
        np.testing.assert_array_equal(segment(image, TRIMAP).probability, found.probability)
    single = segment((IMAGE / 255).astype(np.float32), TRIMAP)
    assert (single.mask != found.mask).mean() < 0.01


def test_the_same_bits_again_and_inputs_untouched(found: Any) -> None:
    image, trimap = IMAGE.copy(), TRIMAP.copy()
    again = segment(image, trimap)
    for name in ("mask", "probability", "superpixels", "pairs", "boundary"):
        np.testing.assert_array_equal(getattr(again, name), getattr(found, name))
    np.testing.assert_array_equal(image, IMAGE)
    np.testing.assert_array_equal(trimap, TRIMAP)


def test_large_images_are_herded_at_a_smaller_scale(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segmentation, "HERDED_PIXELS", 2000)  # by squares of 3 x 3
    found = segment(IMAGE[:95, :94], TRIMAP[:95, :94])
    assert found.mask.shape == (95, 94)
    assert found.superpixels.max() < 60
    assert (found.mask != MASK[:95, :94]).mean() < 0.02
    thin = np.where(TRIMAP == 255, 128, TRIMAP)
    thin[45, 40:60] = 255
    with refuses("trimap", match="more than 3 pixels wide"):
        segment(IMAGE, thin)


def test_grey_images() -> None:
    grey = IMAGE[..., 0]
    found = segment(grey, TRIMAP)
    assert error(found.mask) < 0.05
    assert found.image.shape == (*MASK.shape, 3)
    np.testing.assert_array_equal(segment(grey[..., None], TRIMAP).mask, found.mask)


def test_transparent_pixels_are_white() -> None:
    opacity = np.full((*MASK.shape, 1), 255, np.uint8)
    opacity[:20] = 0
    colours = as_colours(np.concatenate([IMAGE, opacity], axis=2))
    assert (colours[:20] == 1).all()
    np.testing.assert_array_equal(colours[20:], IMAGE[20:] / 255)
    assert as_colours(np.concatenate([IMAGE[..., :1], opacity], axis=2))[0, 0].tolist() == [1] * 3


def test_colours_of_the_background_are_those_of_64() -> None:
    # far away the background has the colours of the object
    image, trimap = IMAGE.copy(), np.where(TRIMAP == 0, 64, TRIMAP).astype(np.uint8)
    image[:6], trimap[:6] = IMAGE[40:46, 40:46].mean(axis=(0, 1)), 0
    found = segment(image, trimap)
    assert error(found.mask) < 0.01
    assert not found.mask[:6].any()
    lab = image / 2.55
    apart, together = (colour_evidence(lab, own)[:6] for own in (trimap, TRIMAP))
    assert apart.min() > 0
    assert apart.mean() > together.mean() + 1


@pytest.mark.parametrize("shape", [(1, 3), (3, 1), (2, 2), (3, 40)])
def test_small_and_flat_images(shape: tuple[int, int]) -> None:
    trimap = np.full(shape, 128)
    trimap.flat[0], trimap.flat[-1] = 255, 0
    image = np.full((*shape, 3), 0.4)
    found = segment(image, trimap)
    assert np.isfinite(found.probability).all()
    assert found.mask.flat[0]
    assert not found.mask.flat[-1]
    str(found.summary())


@pytest.mark.parametrize(
    ("image", "match"),
    [
        (IMAGE[0, 0], "shape"),
        (np.zeros((96, 96, 5)), "3 colours"),
        (np.zeros((0, 96, 3)), "shape"),
        (IMAGE / 200, r"floats from 0 to 1, got 0 to 1\."),
        (IMAGE - 300.0, "floats from 0 to 1, got -"),
        (IMAGE.astype(int) * 2, "from 0 to 255, got"),
        (np.where(MASK, np.nan, 0.5), "got NaN"),
        (MASK, "be numbers"),
        (MASK.astype(str), "be numbers"),
        (np.broadcast_to(np.uint8(0), (2**13, 2**12)), "scale it down"),
    ],
)
def test_images_that_are_refused(image: Any, match: str) -> None:
    with refuses("image", (ValueError, TypeError), match=match):
        segment(image, TRIMAP)


@pytest.mark.parametrize(
    ("trimap", "match"),
    [
        (TRIMAP[:-1], "be of the size 96 x 96, got 96 x 95"),
        (TRIMAP[..., None], "be of the size 96 x 96, got shape"),
        (np.where(TRIMAP == 255, 128, TRIMAP), r"foreground \(255\), got 0, 128"),
        (np.where(TRIMAP == 0, 128, TRIMAP), r"background \(0 or 64\), got 128, 255"),
        (np.where(TRIMAP == 128, 0, TRIMAP), r"unknown \(128\), got 0, 255"),
        (TRIMAP / 255, r"unknown \(128\), got 0, 0.501961, 1"),
        (np.where(TRIMAP == 128, 190, TRIMAP), "all but 5% of its pixels, got 0, 190, 255"),
        (np.where(TRIMAP == 0, np.nan, TRIMAP), "got"),
        (np.arange(96 * 96).reshape(96, 96) % 256, "and 248 more"),
        (TRIMAP > 0, "greys"),
    ],
)
def test_trimaps_that_are_refused(trimap: Any, match: str) -> None:
    with refuses("trimap", (ValueError, TypeError), match=match):
        segment(IMAGE, trimap)


def test_greys_near_those_of_a_trimap_count_as_these() -> None:
    rng = np.random.default_rng(0)
    painted = np.clip(TRIMAP + rng.integers(-16, 17, TRIMAP.shape), 0, 255)
    np.testing.assert_array_equal(as_trimap(painted, MASK.shape), TRIMAP)
    edge = TRIMAP.copy()
    edge[40, 40:60] = np.linspace(160, 230, 20)
    assert (as_trimap(edge, MASK.shape)[40, 40:60] == 128).all()


def test_superpixels_are_small_and_of_one_kind() -> None:
    lab = IMAGE / 2.55
    kinds = np.where(UNKNOWN, 1, 0)
    labels = superpixels(lab, kinds)
    sizes = np.bincount(labels.ravel())
    assert sizes.min() > 0
    assert 20 < sizes.mean() < 60
    assert set(means_of(kinds[..., None].astype(float), labels)[:, 0]) == {0.0, 1.0}
    alone = superpixels(lab)
    assert alone.max() < labels.max()


def test_borders() -> None:
    labels = np.array([[0, 0, 1], [2, 2, 1]])
    borders = borders_of(labels)
    assert borders.pairs.tolist() == [[0, 1], [0, 2], [1, 2]]
    assert borders.lengths.tolist() == [1, 2, 1]
    lengths = np.bincount(borders.pair, minlength=3)
    np.testing.assert_array_equal(lengths, borders.lengths)
    assert borders.along(np.arange(4.0))[borders.pair].sum() == pytest.approx(6.0)


def test_a_step_is_a_probable_boundary() -> None:
    lab = np.zeros((60, 60, 3))
    lab[:, 30:] = [60.0, 30.0, -30.0]
    labels = superpixels(lab)
    borders = borders_of(labels)
    chances = boundaries.boundary_probabilities(boundaries.boundary_cues(lab, labels, borders))
    right = means_of((lab[..., :1] > 0).astype(float), labels)[:, 0]
    across = np.abs(np.diff(right[borders.pairs], axis=1))[:, 0] > 0.9
    assert across.sum() > 5
    assert chances[across].min() > 0.5
    assert chances[~across].max() < 0.3


def test_the_boundary_model_is_that_which_was_fitted() -> None:
    root = Path(__file__).parents[3]
    stored = json.loads((root / "benchmarks/results/boundaries.json").read_text())["rows"][0]
    assert tuple(stored["cues"]) == boundaries.CUES
    assert tuple(stored["coefficients"]) == boundaries.COEFFICIENTS
    assert stored["intercept"] == boundaries.INTERCEPT


def test_strips_of_rows_make_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    lab, given = IMAGE / 2.55, MASK.astype(float)
    whole = edges.follow_edges(given, lab)
    monkeypatch.setattr(edges, "N_PIXELS", 700)
    np.testing.assert_allclose(edges.follow_edges(given, lab), whole, atol=1e-8)


def test_edges_are_those_of_the_image() -> None:
    lab = np.zeros((40, 40, 3))
    lab[:, 20:] = 50.0
    rough = np.zeros((40, 40))
    rough[:, 20:], rough[::4, 18:20] = 0.8, 0.8
    np.testing.assert_array_equal(edges.follow_edges(rough, lab) > 0.5, lab[..., 0] > 0)


def test_contrast_keeps_masks() -> None:
    chances = np.linspace(0, 1, 11)
    sharp = edges.sharpen(chances)
    np.testing.assert_array_equal(sharp > 0.5, chances > 0.5)
    assert sharp[[0, 5, 10]].tolist() == [0, 0.5, 1]
    assert sharp[8] == pytest.approx(256 / 257)


def test_herding_goes_to_the_nearest_marginals() -> None:
    """Superpixels 3 and 4 are known; states are those of the other three."""
    pairs = np.array([[0, 1], [1, 2], [0, 3], [2, 4], [1, 4], [3, 4]])
    lengths, areas = np.array([4, 2, 3, 5, 1, 9]), np.array([30, 50, 40, 20, 60])
    differ = np.array([0.1, 0.3, 0.6, 0.2, 0.4, 0.5])
    evidence = np.array([2.0, -4.0, 1.0, np.inf, -np.inf])
    model = LocalModel(np.zeros((1, 1), np.intp), areas, evidence, pairs, lengths, differ)
    reached, apart = herd_local(model, trust=0.5, weight=3.0, n_steps=20_000)
    states = np.array([[*np.unravel_index(k, (2, 2, 2)), 1, 0] for k in range(8)])
    unlike = states[:, pairs[:, 0]] != states[:, pairs[:, 1]]
    phi = np.column_stack([states, 1 - states, unlike]).astype(float)
    chances = model.chances(0.5)
    target = np.concatenate([chances, 1 - chances, differ])
    size, length = areas / areas.mean(), 3 * lengths / lengths.mean()
    rates = np.sqrt(np.concatenate([size, size, length]))
    heavy = 1e4  # shares sum to 1
    rows = np.vstack([(phi * rates).T, np.full(8, heavy)])
    shares = nnls(rows, np.append(target * rates, heavy))[0]
    nearest = shares @ phi
    np.testing.assert_allclose(reached, nearest[:5], atol=2e-3)
    np.testing.assert_allclose(apart, nearest[10:], atol=2e-3)
    assert reached[3:].tolist() == [1, 0]


def test_one_unknown_superpixel_between_known_ones() -> None:
    pairs, ones = np.array([[0, 1], [0, 2]]), np.ones(2, np.intp)
    evidence = np.array([0.0, np.inf, -np.inf])
    model = LocalModel(
        np.zeros((1, 1), np.intp), np.ones(3, np.intp), evidence, pairs, ones, np.array([0.1, 0.5])
    )
    reached, apart = herd_local(model, weight=2.0, n_steps=4000)
    # targets 0.5 twice (its cells), 0.9 and 0.5, all with rates 1, 1, 2, 2
    assert reached[0] == pytest.approx((2 * 0.5 + 2 * 0.9 + 2 * 0.5) / 6, abs=1e-3)
    np.testing.assert_allclose(apart, [1 - reached[0], reached[0]])


def test_the_summary(found: Any) -> None:
    text = str(found)
    assert text.startswith(f"96 x 96 pixels, {UNKNOWN.sum():,} pixels unknown\n")
    assert "foreground" in text
    assert repr(found).startswith("Segmentation(96 x 96 pixels")


def test_the_overlay_has_an_outline_on_a_faded_background(found: Any) -> None:
    shown = found.overlay()
    assert shown.shape == IMAGE.shape
    assert shown.dtype == np.uint8
    np.testing.assert_array_equal(shown[48, 48], IMAGE[48, 48])
    assert (shown[0, 0] > IMAGE[0, 0]).all()
    outline = (shown == [217, 119, 6]).all(axis=2)
    assert outline.sum() > 50
    assert found.mask[outline].all()
