import numpy as np
import pytest

from herder.cli.demo import fields as part
from herder.learn.boltzmann import BoltzmannMachine
from herder.report import Page


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(part, "SWEEPS", (100, 1000, 5000))
    monkeypatch.setattr(part, "N_LEARN", 1600)
    monkeypatch.setattr(part, "N_HIDDEN", 4)


def test_both_jobs_beat_their_alternatives(small, tmp_path):
    page = Page("demo", "of one part")
    sampled, filled = part.part(page)
    # herded Gibbs has about a tenth of the error; half of it is far from luck
    assert float(sampled.ours) < float(sampled.alternative.split()[0]) / 2
    ours, theirs = (float(text.split("%")[0]) for text in (filled.ours, filled.alternative))
    assert ours < theirs - 5
    page.save(tmp_path / "page.html")
    html = (tmp_path / "page.html").read_text(encoding="utf-8")
    for words in ("A random field, sampled", "after 5,000 sweeps", "Pixels that are missing"):
        assert words in html
    assert html.count("<svg") + html.count("<img") == 3


def test_pixels_are_hidden_and_only_those_are_filled(monkeypatch):
    monkeypatch.setattr(part, "N_HIDDEN", 1)
    rng = np.random.default_rng(0)
    first = rng.random(2000) < 0.7
    copies = np.column_stack([first, first, rng.random(2000) < 0.4]).astype(np.int8)
    machine = BoltzmannMachine(alpha=1e-4).fit(copies[:1000])
    filled = part.fill_pixels(machine, copies[:1000], copies[1000:])
    assert (filled.hidden.sum(axis=1) == 1).all()
    for guess in (filled.by_machine, filled.by_majority):
        assert np.array_equal(guess[~filled.hidden], copies[1000:][~filled.hidden])
    # the first two are copies of each other, which the machine knows and the majority does not
    pair = filled.hidden[:, :2].any(axis=1)
    assert np.array_equal(filled.by_machine[pair], copies[1000:][pair])
    assert (filled.by_majority[:, :2][filled.hidden[:, :2]] == 1).all()
    assert (filled.by_majority[:, 2][filled.hidden[:, 2]] == 0).all()
    assert filled.error(filled.by_majority) > filled.error(filled.by_machine)
