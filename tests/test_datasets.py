import dataclasses

import numpy as np
import pytest

from herder import datasets

PAPERS = [
    datasets.abalone,
    datasets.usps,
    datasets.newsgroups,
    datasets.duckpin,
    datasets.load_spambase,
]


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


@pytest.mark.parametrize("read", PAPERS)
def test_papers_sets_say_what_is_missing(read, tmp_path, monkeypatch):
    monkeypatch.delenv("HERDER_DATA", raising=False)
    rule = r"^HERDER_DATA must name the folder that has \w+\.npz, got "
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
    return tmp_path


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
    assert all(isinstance(name, str) for read in PAPERS for name in read().names)


def test_a_file_of_another_form_is_named(folder):
    np.savez(folder / "duckpin_rolls.npz", pins=np.ones((4, 10)))
    with pytest.raises(ValueError, match=r"duckpin_rolls\.npz must hold the array standing, got"):
        datasets.duckpin()
