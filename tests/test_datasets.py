import dataclasses
import gzip
import json
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC

from herder import datasets
from tests.naming import refuses

PAPERS = [
    datasets.abalone,
    datasets.usps,
    datasets.newsgroups,
    datasets.duckpin,
    datasets.load_spambase,
    datasets.mnist,
]
LARGER = [datasets.newsgroups20, datasets.multidomain_sentiment, datasets.reuters21578]
GO = [datasets.go_games, datasets.go_ownership]
IMAGES = [datasets.grabcut, datasets.bsds]


@pytest.mark.parametrize(
    ("load", "shape", "share"),
    [
        (datasets.load_digits_binary, (1797, 64), 0.3230),
        (datasets.load_breast_cancer_binary, (569, 30), 0.3999),
    ],
)
def test_bundled_tables_are_binary(load, shape, share):
    data = load()
    assert data.X.shape == shape
    assert set(np.unique(data.X)) == {0, 1}
    assert data.X.mean() == pytest.approx(share, abs=5e-4)
    assert len(set(data.names)) == shape[1]
    assert data.y is not None
    assert len(data.y) == shape[0]
    with pytest.raises(dataclasses.FrozenInstanceError):
        data.y = None  # pyright: ignore[reportAttributeAccessIssue]


def test_the_digits_look_like_digits():
    data = datasets.load_digits_binary()
    zero = data.X[data.y == 0].mean(axis=0).reshape(8, 8)
    assert zero[3:5, 3:5].max() < 0.1  # the hole
    assert zero[0, 3] > 0.6  # the top of the ring


DRAWN = [datasets.make_banana, datasets.make_lithuanian, datasets.make_spirals]


@pytest.mark.parametrize("make", DRAWN)
def test_drawn_sets_are_balanced_and_reproducible(make):
    data = make(501)
    assert data.X.shape == (501, 2)
    assert data.X.dtype == np.float64
    assert len(data.names) == 2
    assert np.bincount(data.y).tolist() == [251, 250]
    np.testing.assert_array_equal(data.X, make(501, random_state=np.random.default_rng(0)).X)
    assert not np.array_equal(data.X, make(501, random_state=1).X)


@pytest.mark.parametrize(
    ("make", "centres", "radii"),
    [
        (datasets.make_banana, [(0, 0), (-3.75, -3.75)], (5, 5)),
        (datasets.make_lithuanian, [(0, 0), (0, 0)], (10, 6.2)),
    ],
)
def test_drawn_classes_are_noisy_arcs(make, centres, radii):
    data = make(10_000)
    for label in (0, 1):
        radius = np.hypot(*(data.X[data.y == label] - centres[label]).T)
        # noise across the radius r adds 1 / (2r) to the mean; 5,000 distances spread by 0.014
        assert radius.mean() == pytest.approx(radii[label] + 0.5 / radii[label], abs=0.06)
        assert radius.std() == pytest.approx(1, abs=0.04)


def test_spirals_are_two_half_circles_with_noise_of_the_radius():
    data = datasets.make_spirals(10_000)
    first, second = data.X[data.y == 0], data.X[data.y == 1]
    for arm in (first, np.array([10.0, 5.0]) - second):
        radius, angle = np.hypot(*arm.T), np.arctan2(*arm.T[::-1])
        # 5,000 radii of standard deviation 1, angles of pi / sqrt(12): errors of 0.014 and 0.013
        assert radius.mean() == pytest.approx(10, abs=0.06)
        assert radius.std() == pytest.approx(1, abs=0.04)
        assert angle.mean() == pytest.approx(np.pi / 2, abs=0.05)
        assert 0 <= angle.min() < 0.01
        assert np.pi - 0.01 < angle.max() <= np.pi


@pytest.mark.parametrize("make", DRAWN)
def test_a_line_does_not_separate_what_is_drawn(make):
    # of all sets lines misclassify 0.09 to 0.18, curves 0 to 0.03; 1,000 rows spread by 0.01
    train, test = make(random_state=1), make(random_state=2)
    line, curve = (
        1 - model.fit(train.X, train.y).score(test.X, test.y)
        for model in (LogisticRegression(), SVC())
    )
    assert line > curve + 0.08


@pytest.mark.parametrize("make", DRAWN)
def test_drawn_sets_need_rows_and_a_seed(make):
    with refuses("n_rows"):
        make(0)
    with refuses("random_state", TypeError):
        make(10, random_state="a")


@pytest.mark.parametrize("read", PAPERS + LARGER + GO + IMAGES)
def test_papers_sets_say_what_is_missing(read, tmp_path, monkeypatch):
    monkeypatch.delenv("HERDER_DATA", raising=False)
    rule = r"^HERDER_DATA must name the folder that has \w+\.(npz|jsonl\.gz), got "
    with pytest.raises(FileNotFoundError, match=rule + "nothing$"):
        read()
    monkeypatch.setenv("HERDER_DATA", str(tmp_path / "no"))
    with pytest.raises(FileNotFoundError, match=rule + ".*no', which is no folder$"):
        read()
    monkeypatch.setenv("HERDER_DATA", str(tmp_path))
    with pytest.raises(FileNotFoundError, match=rule + "'.*'$"):
        read()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Tiny files in the form of the papers' sets."""
    monkeypatch.setenv("HERDER_DATA", str(tmp_path))
    np.savez(
        tmp_path / "abalone.npz",
        sex=np.array(["M", "I", "F"]),
        X=np.arange(21.0).reshape(3, 7),
        rings=np.array([4, 5, 6], np.uint8),
        feature_names=np.array([f"f{j}" for j in range(7)]),
    )
    images = np.arange(512, dtype=np.uint8).reshape(2, 16, 16)
    np.savez(tmp_path / "usps_11000.npz", X=images, y=np.array([1, 0], np.uint8))
    np.savez(
        tmp_path / "newsgroups_w100.npz",
        X=np.eye(3, 2, dtype=np.uint8),
        y=np.array([0, 1, 0], np.uint8),
        words=np.array(["aids", "baseball"]),
        groups=np.array(["comp.*", "rec.*"]),
    )
    np.savez(tmp_path / "duckpin_rolls.npz", standing=np.ones((4, 10), np.uint8))
    np.savez(
        tmp_path / "spambase.npz",
        X=np.arange(6.0).reshape(3, 2),
        y=np.array([1, 0, 0], np.uint8),
        feature_names=np.array(["word_freq_make", "char_freq_!"]),
    )
    np.savez(
        tmp_path / "mnist.npz",
        X_train=np.arange(3 * 4, dtype=np.uint8).reshape(3, 2, 2),
        y_train=np.array([7, 0, 1], np.uint8),
        X_test=np.full((1, 2, 2), 255, np.uint8),
        y_test=np.array([9], np.uint8),
    )
    np.savez(
        tmp_path / "newsgroups20_bow.npz",
        train_indptr=np.array([0, 2, 2], np.int32),
        train_indices=np.array([0, 2], np.uint16),
        train_counts=np.array([3, 1], np.uint16),
        train_label=np.array([1, 0], np.uint8),
        test_indptr=np.array([0, 1], np.int32),
        test_indices=np.array([1], np.uint16),
        test_counts=np.array([300], np.uint16),
        test_label=np.array([1], np.uint8),
        vocabulary=np.array(["ape", "bee", "cat"]),
        groups=np.array(["alt.a", "sci.b"]),
    )
    write_lines(
        tmp_path / "multidomain_sentiment.jsonl.gz",
        dict(domain="dvd", label=1, rating=5.0, id="a", title="Oh", text="fine"),
        dict(domain="books", label=0, rating=2.0, id="b", title="No", text="Überlang"),
    )
    write_lines(
        tmp_path / "reuters21578_modapte.jsonl.gz",
        dict(id=1, split="train", topics=["earn"], title="A", text="b"),
        dict(id=2, split="test", topics=["grain", "wheat"], title="C", text="d"),
        dict(id=3, split="train", topics=[], title="E", text="f"),
    )
    return tmp_path


@pytest.mark.usefixtures("folder")
def test_games_of_go_are_read(tmp_path):
    text = np.array(["a", "b"])
    arrays: dict[str, Any] = {
        "moves": np.array([60, 72, 361, 5, 6], np.uint16),
        "offset": np.array([0, 3, 5], np.int32),
        "komi": np.array([0, 6.5], np.float32),
        "score": np.array([2, -1.5], np.float32),
        **{name: text for name in ("date", "black", "white")},
    }
    np.savez(tmp_path / "go_pro_games.npz", **arrays)
    games = datasets.go_games()
    assert [own.tolist() for own in games.moves] == [[60, 72, 361], [5, 6]]
    assert games.fields["komi"].tolist() == [0, 6.5]
    boards = np.zeros((3, 19, 19), np.int8)
    arrays = {
        **{f"board{move}": boards + 1 for move in (20, 80, 150)},
        **{name: boards for name in ("final", "ownership")},
        "game": np.array([1, 0, 1]),
        "gnugo_score": np.array([2, 2, -3], np.float32),
        "recorded_score": np.array([3, 2, 3], np.float32),
    }
    np.savez(tmp_path / "go_ownership.npz", **arrays)
    found = datasets.go_ownership()
    assert list(found.boards) == [20, 80, 150]
    assert (found.boards[80].sum(), found.owners.shape) == (3 * 361, (3, 19, 19))
    assert found.fields["clean"].tolist() == [True, True, False]


@pytest.mark.usefixtures("folder")
def test_images_of_several_sizes_are_read(tmp_path):
    shape, pixels = np.array([[2, 3], [4, 2]], np.int32), np.arange(14, dtype=np.uint8)
    images, names = np.arange(42, dtype=np.uint8), np.array(["a", "b"])
    maps: dict[str, Any] = {"lasso": pixels, "rect": pixels + 1, "truth": pixels + 2}
    np.savez(tmp_path / "grabcut50_half.npz", images=images, shape=shape, names=names, **maps)
    given = datasets.grabcut()
    assert given.names == ("a", "b")
    assert [one.shape for one in given.images] == [(2, 3, 3), (4, 2, 3)]
    assert given.images[1].ravel().tolist() == list(range(18, 42))
    assert given.maps["rectangle"][1].tolist() == [[7, 8], [9, 10], [11, 12], [13, 14]]
    assert set(given.maps) == {"lasso", "rectangle", "truth"}
    np.savez(
        tmp_path / "bsds500_test50_half.npz",
        images=images,
        segs=np.arange(20, dtype=np.uint8),
        shape=shape,
        n_annotators=np.array([2, 1]),
        names=names,
    )
    first, second = datasets.bsds().maps["segments"]
    assert first.tolist() == [[[0, 1, 2], [3, 4, 5]], [[6, 7, 8], [9, 10, 11]]]
    assert second.shape == (1, 4, 2)


def write_lines(path, *rows):
    with gzip.open(path, "wt", encoding="utf-8") as stream:
        stream.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


@pytest.mark.usefixtures("folder")
def test_papers_sets_are_read():
    data = datasets.abalone()
    assert data.names == ("sex", "f0", "f1", "f2", "f3", "f4", "f5", "f6", "rings")
    assert data.X[1].tolist() == [3.0, 7, 8, 9, 10, 11, 12, 13, 5]
    assert data.X[:, 0].tolist() == [1, 3, 2]
    data = datasets.usps()
    assert data.X.shape == (2, 256)
    assert (data.names[16], data.X[0, 16]) == ("pixel_1_0", 16)
    families = datasets.newsgroups().y
    assert families is not None
    assert families.tolist() == ["comp.*", "rec.*", "comp.*"]
    assert datasets.newsgroups().names == ("aids", "baseball")
    assert datasets.duckpin().X.shape == (4, 10)
    assert datasets.duckpin().names[0] == "pin_1"
    spam = datasets.load_spambase()
    assert spam.X.tolist() == [[0, 1], [2, 3], [4, 5]]
    assert spam.names == ("word_freq_make", "char_freq_!")
    assert spam.y is not None
    assert spam.y.tolist() == [1, 0, 0]
    digits = datasets.mnist()
    assert digits.X.tolist() == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11], [255] * 4]
    assert digits.names == ("pixel_0_0", "pixel_0_1", "pixel_1_0", "pixel_1_1")
    assert digits.y is not None
    assert digits.y.tolist() == [7, 0, 1, 9]
    assert all(isinstance(name, str) for read in PAPERS for name in read().names)


@pytest.mark.usefixtures("folder")
def test_words_of_newsgroups_are_read():
    news = datasets.newsgroups20()
    assert news.X.toarray().tolist() == [[3, 0, 1], [0, 0, 0], [0, 300, 0]]
    assert news.names == ("ape", "bee", "cat")
    assert news.y.tolist() == ["sci.b", "alt.a", "sci.b"]


@pytest.mark.usefixtures("folder")
def test_texts_are_read():
    reviews = datasets.multidomain_sentiment()
    assert reviews.texts == ("Oh\nfine", "No\nÜberlang")
    found = {name: values.tolist() for name, values in reviews.fields.items()}
    assert found == {"domain": ["dvd", "books"], "label": [1, 0], "rating": [5, 2]}
    stories = datasets.reuters21578()
    assert stories.texts == ("A\nb", "C\nd", "E\nf")
    found = {name: values.tolist() for name, values in stories.fields.items()}
    assert found["topic"] == ["earn", "", ""]
    assert found["topics"] == ["earn", "grain wheat", ""]
    assert found["train"] == [True, False, True]


def test_a_line_of_another_form_is_named(folder):
    path = folder / "multidomain_sentiment.jsonl.gz"
    row = dict(domain="dvd", label=1, rating=5.0, title="Oh", text="fine")
    write_lines(path, row, {"domain": "dvd"})
    with pytest.raises(ValueError, match=r"gz, line 2 must hold the field label, got \['domain"):
        datasets.multidomain_sentiment()


def test_a_file_of_another_form_is_named(folder):
    np.savez(folder / "duckpin_rolls.npz", pins=np.ones((4, 10)))
    with pytest.raises(ValueError, match=r"duckpin_rolls\.npz must hold the array standing, got"):
        datasets.duckpin()
