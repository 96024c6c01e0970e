import numpy as np
import pytest

from herder.cli.demo import load_job
from herder.core.summary import Table
from herder.learn.boltzmann import BoltzmannMachine
from herder.report import page_html

script = load_job("fields")


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(script, "SWEEPS", (100, 1000, 5000))
    monkeypatch.setattr(script, "N_LEARN", 1600)
    monkeypatch.setattr(script, "N_HIDDEN", 4)


def test_both_jobs_beat_their_alternatives(small):
    summary = script.job()
    (table,) = summary.blocks
    assert isinstance(table, Table)
    (*_, sampled, gibbs), (*_, filled, majority) = table.cells()
    # herded Gibbs has about a tenth of the error; half of it is far from luck
    assert sampled.endswith(" (best)")
    assert float(sampled.split()[0]) < float(gibbs.split()[0]) / 2
    ours, theirs = (float(text.split("%")[0]) for text in (filled, majority))
    assert ours < theirs - 5
    html = page_html(summary)
    for words in ("Sampling a random field", "after 5,000 sweeps", "Imputing missing pixels"):
        assert words in html
    assert html.count("<svg") + html.count("<img") == 3


def test_pixels_are_hidden_and_only_those_are_filled(monkeypatch):
    monkeypatch.setattr(script, "N_HIDDEN", 1)
    rng = np.random.default_rng(0)
    first = rng.random(2000) < 0.7
    copies = np.column_stack([first, first, rng.random(2000) < 0.4]).astype(np.int8)
    machine = BoltzmannMachine(alpha=1e-4).fit(copies[:1000])
    filled = script.fill_pixels(machine, copies[:1000], copies[1000:])
    assert (filled.hidden.sum(axis=1) == 1).all()
    for guess in (filled.by_machine, filled.by_majority):
        assert np.array_equal(guess[~filled.hidden], copies[1000:][~filled.hidden])
    # the first two are copies of each other, which the machine knows and the majority does not
    pair = filled.hidden[:, :2].any(axis=1)
    assert np.array_equal(filled.by_machine[pair], copies[1000:][pair])
    assert (filled.by_majority[:, :2][filled.hidden[:, :2]] == 1).all()
    assert (filled.by_majority[:, 2][filled.hidden[:, 2]] == 0).all()
    assert filled.error(filled.by_majority) > filled.error(filled.by_machine)
