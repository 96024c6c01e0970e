"""The river classifier: which values, labels and learners it takes, and what it says of others."""

import math
import re
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import SGDClassifier

from herder.online.aggressive import PassiveAggressive
from herder.online.gaussian import NHERD
from herder.online.river import _classifier, for_river
from herder.online.voted import VotedPerceptron
from tests.naming import refuses


def tell(model: Any) -> tuple[Any, ...]:
    """What a model has learnt and what it says, in plain numbers."""
    probes = [{"a": 1.0, "b": -2.0}, {"b": 0.5, "new": 3.0}, {}]
    return model.weights, model.intercept, [model.predict_proba_one(x) for x in probes]


def test_numbers_of_all_kinds_are_numbers() -> None:
    kinds = {
        "a": np.float32(0.5),
        "b": True,
        "c": np.int64(-2),
        "d": Fraction(1, 4),
        "e": np.True_,
    }
    plain = {"a": 0.5, "b": 1.0, "c": -2.0, "d": 0.25, "e": 1.0}
    models = []
    for x in (kinds, plain):
        model = for_river(NHERD())
        model.learn_one(x, np.True_)
        model.learn_one(x, False)
        models.append(model)
    assert models[0].weights == models[1].weights
    assert models[0].predict_one(kinds) is models[1].predict_one(plain)


BAD_VALUES = [
    ("red", TypeError, "x must hold numbers, got 'red' for 'colour': encode it first"),
    (None, TypeError, "x must hold numbers, got None for 'colour'"),
    (1j, TypeError, "x must hold numbers, got 1j for 'colour'"),
    pytest.param(10**400, ValueError, "within floats, got 401 digits for 'colour'", id="huge"),
    (math.nan, ValueError, "x must hold finite numbers, got nan for 'colour'"),
    (-math.inf, ValueError, "x must hold finite numbers, got -inf for 'colour'"),
]


@pytest.mark.parametrize(("value", "error", "text"), BAD_VALUES)
@pytest.mark.parametrize("estimator", [NHERD(), NHERD(average=True)], ids=repr)
def test_a_bad_value_is_named(
    estimator: Any, value: Any, error: type[Exception], text: str
) -> None:
    model = for_river(estimator)
    model.learn_one({"size": 1.0}, True)
    before = tell(model)[:2]
    x = {"size": 2.0, "colour": value}
    for call in (model.predict_one, model.predict_proba_one, lambda x: model.learn_one(x, False)):
        with pytest.raises(error, match=re.escape(text)):
            call(x)
        assert model.weights["size"] == before[0]["size"]
        assert model.intercept == before[1]


@pytest.mark.parametrize("estimator", [NHERD(), NHERD(forget=0.1)], ids=repr)
def test_a_row_beyond_floats_is_left_out(estimator: Any) -> None:
    model = for_river(estimator)
    model.learn_one({"a": 1.0}, True)
    before = model.weights, model.intercept
    with pytest.warns(RuntimeWarning, match="1 of 1 rows were left out: .* scale x"):
        model.learn_one({"a": 1e200}, False)
    assert (model.weights, model.intercept) == before


def test_labels_and_what_is_said_before_they_come() -> None:
    model = for_river(NHERD())
    assert model.predict_one({"a": 1.0}) is None
    assert model.predict_proba_one({"a": 1.0}) == {}
    assert model.weights == model.intercept == {}
    assert model._multiclass
    model.learn_one({"a": 1.0}, np.True_)
    assert not model._multiclass
    assert model.predict_one({"a": 1.0}) is True
    assert list(model.predict_proba_one({"a": 1.0})) == [False, True]
    model.learn_one({"a": -1.0}, 0)
    with refuses("y", match="got 'no': name all"):
        model.learn_one({"a": 1.0}, "no")


def test_one_label_alone_is_certain_and_teaches_nothing() -> None:
    for estimator in (NHERD(), NHERD(covariance="full"), NHERD(multi_class="one-vs-rest")):
        model = for_river(estimator)
        model.learn_one({"a": 1.0}, "yes")
        assert model.predict_one({"a": 1.0}) == "yes"
        assert model.predict_proba_one({"b": 1.0}) == {"yes": 1.0}
        assert model.weights == {"yes": {"a": 0.0}}
        assert model._model.n_updates == 0


def test_labels_may_be_anything_that_can_be_a_key() -> None:
    model = for_river(NHERD())
    for k, label in enumerate([("a", 1), 3, "x", np.int64(3), np.str_("x")]):
        model.learn_one({f"n{k}": 1.0}, label)
    assert list(model.weights) == [("a", 1), 3, "x"]
    with refuses("y"):
        model.learn_one({"a": 1.0}, None)
    with refuses("y"):
        model.learn_one({"a": 1.0}, math.nan)


def test_classes_are_kept_to_unless_more_may_come() -> None:
    model = for_river(NHERD(), classes=["b", "a", "c"])
    assert model.predict_one({"x": 1.0}) == "b"
    with refuses("y"):
        model.learn_one({"x": 1.0}, "d")
    two = for_river(NHERD(), classes=[0, 1])
    assert two.predict_proba_one({"x": 1.0}) == {0: 0.5, 1: 0.5}
    more = for_river(NHERD(new_classes="add"), classes=["a", "b"])
    more.learn_one({"x": 1.0}, "d")
    assert list(more.weights) == ["a", "b", "d"]


def test_a_weight_scales_c() -> None:
    heavy, large, none = for_river(NHERD()), for_river(NHERD(C=2.5)), for_river(NHERD())
    for x, y in (({"a": 1.0}, True), ({"a": 2.0, "b": 1.0}, False)):
        heavy.learn_one(x, y, w=2.5)
        large.learn_one(x, y)
        none.learn_one(x, y, w=0)
    assert tell(heavy) == tell(large)
    assert set(none.weights.values()) == {0.0}
    for weight in (-1, 1e51, math.inf, math.nan):
        text = f"w must be a number from 0 to 1e+50, got {weight}"
        with pytest.raises(ValueError, match=re.escape(text)):
            heavy.learn_one({"a": 1.0}, True, w=weight)


def test_without_a_covariance_there_are_no_probabilities() -> None:
    model = for_river(PassiveAggressive())
    model.learn_one({"a": 1.0}, True)
    with pytest.raises(NotImplementedError, match="PassiveAggressive has no covariance"):
        model.predict_proba_one({"a": 1.0})
    with pytest.raises(NotImplementedError, match="PassiveAggressive has no covariance"):
        model.predict_proba_many(pd.DataFrame({"a": [1.0]}))


BAD_FRAMES = [
    (pd.DataFrame([[1.0, 2.0]], columns=["a", "a"]), ValueError, "X must"),
    (pd.DataFrame({"a": ["red"]}), TypeError, "for 'a': encode it first"),
    (pd.DataFrame({"b": [1.0], "a": [math.nan]}), ValueError, "got nan for 'a'"),
]


@pytest.mark.parametrize(("frame", "error", "text"), BAD_FRAMES)
def test_bad_frames(frame: pd.DataFrame, error: type[Exception], text: str) -> None:
    model = for_river(NHERD(), classes=[False, True])
    for call in (model.predict_many, lambda X: model.learn_many(X, pd.Series([True]))):
        with pytest.raises(error, match=re.escape(text)):
            call(frame)


def fitted() -> NHERD:
    return NHERD().fit([[0.0], [1.0]], [0, 1])


REFUSED: list[tuple[Callable[[], object], type[Exception], str]] = [
    (lambda: for_river(SGDClassifier()), TypeError, "estimator"),  # pyright: ignore[reportArgumentType]
    (lambda: for_river(NHERD), TypeError, "estimator"),  # pyright: ignore[reportArgumentType]
    (
        lambda: for_river(NHERD(covariance="full", kernel="rbf")),
        ValueError,
        "estimator",
    ),
    (lambda: for_river(fitted()), ValueError, "estimator"),
    (lambda: for_river(NHERD(C=-1)), ValueError, "C"),
    (lambda: for_river(NHERD(), classes=["a"]), ValueError, "classes"),
    (lambda: for_river(NHERD(), classes="aba"), ValueError, "classes"),
    (
        lambda: for_river(NHERD(class_weight="balanced"), classes="ab"),
        ValueError,
        "class_weight",
    ),
]


@pytest.mark.parametrize(("call", "error", "name"), REFUSED)
def test_what_is_refused(call: Callable[[], object], error: type[Exception], name: str) -> None:
    with refuses(name, error):
        call()


def test_a_vote_is_refused_with_what_is_near_to_it() -> None:
    with refuses("estimator", match=r"near to Perceptron\(average=True\)"):
        for_river(VotedPerceptron())


def test_without_river_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "river", None)
    _classifier.cache_clear()
    with pytest.raises(ModuleNotFoundError, match=re.escape("pip install 'herder[river]'")):
        for_river(NHERD())


def test_river_is_not_imported_before_it_is_asked_for() -> None:
    code = (
        "import sys, herder, herder.online.river; assert 'river' not in sys.modules; "
        "assert not hasattr(herder.online.river, 'Other')"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
