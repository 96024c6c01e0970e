"""Two updates by hand for every learner and form, and what the paper proves about them.

The numbers were worked out from the formulas in exact fractions; those of confidence weighted
learning in fifty digits, from the conditions of optimality and not from the closed roots; the full
and drop forms by inverting matrices. Nothing here was read off the library.
"""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import ndtri

from herder import (
    AROW,
    NHERD,
    ConfidenceWeighted,
    PassiveAggressive,
    Perceptron,
    SecondOrderPerceptron,
    VotedPerceptron,
)

ROWS = np.array([[1.0, 2.0], [1.0, -1.0]])
OPPOSITE, SAME = np.array([1, -1]), np.array([1, 1])
TWO = [-1, 1]
THREE_ROWS = np.array([[1.0, 2.0], [1.0, -1.0], [2.0, 1.0]])
THREE = np.array([0, 1, 2])
CLOSE: dict[str, Any] = {"rtol": 0, "atol": 1e-12}

#: Two rows of opposite labels. Learner and covariance, mean, variances ("full": S11 S12 S22).
#: C = 1, weights 1, confidence 0.9.
PLAIN = """
NHERD project | 62/807 289/807 | 232/2357 232/7229
NHERD exact | 2/387 139/387 | 4/25 25/676
NHERD drop | -12/73 31/73 | 15718/47961 8914/47961
NHERD full | -19/101 52/101 | 1181/10201 -367/10201 425/10201
AROW project | -4/51 22/51 | 1/3 1/6
AROW drop | -2/13 6/13 | 20/39 11/39
AROW full | -3/17 9/17 | 6/17 -1/17 3/17
stdev project | -0.0426577518549 0.9320692494673 | 0.4518389294542 0.3126365149509
stdev drop | -0.0851772703243 0.9564809024111 | 0.5860115295448 0.4072734386478
stdev full | -0.1522966045816 1.0425619030069 | 0.5140928374108 -0.0069652106987 0.3412589462645
variance project | 0.0607789671916 0.6563739173164 | 0.3732000491819 0.2070591506660
variance drop | -0.0303114432250 0.6968148589420 | 0.5315064255674 0.3130225557071
variance full | -0.1135444562172 0.7928878006748 | 0.3965944533436 -0.0470331103882 0.2166321740666
soft-1 project | -0.0426577518549 0.9320692494673 | 0.4518389294542 0.3126365149509
soft-1 drop | -0.0851772703243 0.9564809024111 | 0.5860115295448 0.4072734386478
soft-1 full | -0.1522966045816 1.0425619030069 | 0.5140928374108 -0.0069652106987 0.3412589462645
soft-2 project | 0.0056353947324 0.8519049975687 | 0.5119907123809 0.3510002253130
soft-2 drop | -0.0333246596378 0.8749604140716 | 0.6258117521424 0.4317970900953
soft-2 full | -0.1057992376887 0.9559068558328 | 0.5541741776536 -0.0181345564567 0.3705223345573
"""

#: C = 1/2, weights 1/4 and 3: C is 1/8, then 3/2. In the hard CW forms phi is so scaled instead.
WEIGHTED = """
NHERD project | -33887/113581 41954/113581 | 201280/1407997 50320/401533
NHERD exact | -307/1001 370/1001 | 576/3481 4/25
NHERD drop | -4291/13481 302/793 | 68800612/181737361 213160/628849
NHERD full | -427/1289 550/1289 | 412432/1661521 283992/1661521 369844/1661521
AROW project | -19/65 28/65 | 8/21 1/3
AROW drop | -343/1157 502/1157 | 636/1157 558/1157
AROW full | -31/101 46/101 | 48/101 20/101 42/101
stdev project | -0.5142684790685 0.8865817837056 | 0.1245689647778 0.1236205377486
stdev drop | -0.5147930707963 0.8870765181723 | 0.5115319700147 0.5076375989452
stdev full | -0.5273695906173 0.9003183959364 | 0.4941597638084 0.4232680626837 0.4902724444867
variance project | -0.2143100223955 0.7007989559227 | 0.2135204398730 0.1975784029857
variance drop | -0.2240211730540 0.7080698793717 | 0.4743418096880 0.4395048270238
variance full | -0.2615948858364 0.7527214171719 | 0.4019375400307 0.2541176523247 0.3701228368407
soft-1 project | -0.3904038366639 0.6667972801609 | 0.5115492116663 0.4521445843950
soft-1 drop | -0.3961456327864 0.6714405614810 | 0.6324404361653 0.5590347164916
soft-1 full | -0.4282591702256 0.7093836205000 | 0.5961701996722 0.1656316803163 0.5231175647451
soft-2 project | -0.1736886536428 0.7365885071029 | 0.5219252800175 0.4059362150981
soft-2 drop | -0.1938110484161 0.7503429688058 | 0.6274038338067 0.4888122220635
soft-2 full | -0.2499478554703 0.8151890764363 | 0.5700512506790 0.0562645649129 0.4357849290913
"""

#: C = 1/5, weights 1: the first step of the soft form is cut.
CUT = """
soft-1 project | 0.0264019307001 0.5243513381252 | 0.7155722475587 0.5394492302278
soft-1 drop | 0.0172783138189 0.5308867447245 | 0.7679926250829 0.5797166829627
soft-1 full | -0.0172783138189 0.5654433723622 | 0.7302850854112 -0.0331942764277 0.5481458404553
"""

#: The second-order perceptron. Labels, C and weights (1 and 1, or as above), then the rest.
SECOND = """
opposite plain project | 0 1/2 | 1/3 1/6
opposite plain full | 1/6 1/3 | 5/6 -1/3 1/3
opposite weighted project | 1/9 1/6 | 8/9 2/3
opposite weighted full | 1/13 2/13 | 12/13 -2/13 9/13
same plain project | 1/2 2/5 | 1/2 1/5
same plain full | 11/17 1/17 | 6/17 -1/17 3/17
same weighted project | 13/21 -5/12 | 8/21 1/3
same weighted full | 53/101 -20/101 | 48/101 20/101 42/101
"""

#: The learners without a covariance: mean after two rows.
FIRST = """
PA opposite plain | -1/5 4/5
PA-I opposite plain | -1/5 4/5
PA-II opposite plain | -8/55 38/55
PA opposite weighted | -1/5 4/5
PA-I opposite weighted | -5/16 11/16
PA-II opposite weighted | -17/63 38/63
perceptron opposite plain | 1 2
perceptron same plain | 2 1
perceptron same weighted | 13/4 -5/2
"""

#: Three classes by max-margin, C = 1, a row of each: means and variances of each class.
BLOCKS = """
project | -2021611579/103649339321 1575201437/9422667211 | 2068339/54264991 2068339/108192757
project | -1483/21703 -4076/21703 | 637/10891 637/33823
project | -1234926420/103649339321 45015372675/103649339321 | 2068339/37919593 2068339/17387155
exact | -188509/1190651 17522/108241 | 1/16 25/676
exact | -79/3619 -698/3619 | 4/25 25/676
exact | -32250/1190651 477375/1190651 | 1/16 4/25
drop | -14490191/63614269 4777463/63614269 | 0.4926116506864 0.5575315101108
drop | 1/11 -364/1199 | 2059/3025 18133711/35940025
drop | 1940062476/34669776605 11466385623/34669776605 | 0.4615786633268 0.6619117940196
"""

FULL_MEAN = np.array([[-120359, 70607], [49829, -311402], [70530, 240795]]) / 655741
#: Upper half of the covariance of all six weights.
FULL_COVARIANCE = """
 6315732731725 -2671659944460   871133503980    38012639640 3563040241320  2633647304820
 6310468496671  2637577650732  3569638365516    34082293728  869799614838
 6423146614819   -77261935278  3455626358226 -2560315715454
 3725904320911    39249295638  3454363790598
 3731239877479   -73331589366
 6425743071589
"""


def numbers(text):
    return np.array([float(Fraction(word)) for word in text.split()])


def cases(table):
    """The lines of a table: words of the name, then arrays."""
    lines = [line.split("|") for line in table.strip().splitlines()]
    return [pytest.param(a.split(), *map(numbers, rest), id=a.strip()) for a, *rest in lines]


def learner(name, covariance, **options):
    options["fit_intercept"] = options.get("fit_intercept", False)
    if name in ("NHERD", "AROW"):
        return {"NHERD": NHERD, "AROW": AROW}[name](covariance=covariance, **options)
    return ConfidenceWeighted(0.9, form=name, covariance=covariance, **options)


def agree(model, mean, spread):
    np.testing.assert_allclose(model.coef_, mean[None], **CLOSE)
    if len(spread) == 3:
        a, b, c = spread
        np.testing.assert_allclose(model.covariance_, [[a, b], [b, c]], **CLOSE)
    else:
        np.testing.assert_allclose(model.covariance_, spread[None], **CLOSE)


@pytest.mark.parametrize(("name", "mean", "spread"), cases(PLAIN))
def test_two_updates(name, mean, spread):
    model = learner(*name).partial_fit(ROWS, OPPOSITE, TWO)
    agree(model, mean, spread)
    assert model.n_updates_ == 2


@pytest.mark.parametrize(("name", "mean", "spread"), cases(WEIGHTED))
def test_two_weighted_updates(name, mean, spread):
    model = learner(*name, C=0.5).partial_fit(ROWS, OPPOSITE, TWO, sample_weight=[0.25, 3])
    agree(model, mean, spread)
    # a weight of the class does what the weight of its rows does
    model = learner(*name, C=0.5, class_weight={1: 0.25, -1: 3}).partial_fit(ROWS, OPPOSITE, TWO)
    agree(model, mean, spread)


@pytest.mark.parametrize(("name", "mean", "spread"), cases(CUT))
def test_a_soft_step_is_cut(name, mean, spread):
    agree(learner(*name, C=0.2).partial_fit(ROWS, OPPOSITE, TWO), mean, spread)


@pytest.mark.parametrize(("name", "mean", "spread"), cases(SECOND))
def test_second_order_perceptron(name, mean, spread):
    labels, weights, covariance = name
    C, given = (1.0, None) if weights == "plain" else (0.5, [0.25, 3])
    model = SecondOrderPerceptron(C, covariance=covariance, fit_intercept=False)
    y = OPPOSITE if labels == "opposite" else SAME
    model.partial_fit(ROWS, y, classes=TWO, sample_weight=given)
    agree(model, mean, spread)


@pytest.mark.parametrize(("name", "mean"), cases(FIRST))
def test_first_order(name, mean):
    form, labels, weights = name
    C, given = (1.0, None) if weights == "plain" else (0.5, [0.25, 3])
    if form == "perceptron":
        model = Perceptron(fit_intercept=False)
    else:
        model = PassiveAggressive(C, form=form, fit_intercept=False)
    y = OPPOSITE if labels == "opposite" else SAME
    model.partial_fit(ROWS, y, classes=TWO, sample_weight=given)
    np.testing.assert_allclose(model.coef_, mean[None], **CLOSE)


@pytest.mark.parametrize("covariance", ["project", "exact", "drop"])
def test_three_classes(covariance):
    model = NHERD(covariance=covariance, fit_intercept=False).partial_fit(THREE_ROWS, THREE, THREE)
    lines = [line for line in BLOCKS.strip().splitlines() if line.startswith(covariance)]
    means, spreads = zip(*(map(numbers, line.split("|")[1:]) for line in lines), strict=True)
    np.testing.assert_allclose(model.coef_, means, **CLOSE)
    np.testing.assert_allclose(model.covariance_, spreads, **CLOSE)


def test_three_classes_with_the_whole_covariance():
    model = NHERD(covariance="full", fit_intercept=False).partial_fit(THREE_ROWS, THREE, THREE)
    np.testing.assert_allclose(model.coef_, FULL_MEAN, **CLOSE)
    upper = numbers(FULL_COVARIANCE) / 10749906477025
    np.testing.assert_allclose(model.covariance_[np.triu_indices(6)], upper, **CLOSE)
    np.testing.assert_allclose(model.covariance_, model.covariance_.T, **CLOSE)
    model = AROW(covariance="full", fit_intercept=False).partial_fit(THREE_ROWS, THREE, THREE)
    wanted = np.array([[-94, 52], [39, -237], [55, 185]]) / 511
    np.testing.assert_allclose(model.coef_, wanted, **CLOSE)
    wanted = np.array([317, 317, 338, 218, 218, 338]) / 511
    np.testing.assert_allclose(np.diag(model.covariance_), wanted, **CLOSE)


@pytest.mark.parametrize(
    ("form", "wanted"),
    [
        ("PA", np.array([[-18, 3], [10, -34], [8, 31]]) / 80),
        ("PA-I", np.array([[-18, 3], [10, -34], [8, 31]]) / 80),
        ("PA-II", np.array([[-818, 158], [420, -1554], [398, 1396]]) / 3969),
    ],
)
def test_three_classes_without_covariance(form, wanted):
    model = PassiveAggressive(form=form, fit_intercept=False).partial_fit(THREE_ROWS, THREE, THREE)
    np.testing.assert_allclose(model.coef_, wanted, **CLOSE)


def test_one_against_the_rest():
    options = {"fit_intercept": False, "multi_class": "one-vs-rest"}
    model = NHERD(**options).partial_fit(THREE_ROWS, THREE, THREE)
    wanted = [
        [-2585958802, 6353866441],
        [-2827810382, -7236440377],
        [-634935884, -5023702969],
    ]
    np.testing.assert_allclose(model.coef_, np.array(wanted) / 19605329823, **CLOSE)
    spread = [3952990696 / 78517218197, 3952990696 / 132762364781]
    np.testing.assert_allclose(model.covariance_, [spread] * 3, **CLOSE)
    model = NHERD(covariance="full", **options).partial_fit(THREE_ROWS, THREE, THREE)
    wanted = np.array([[-4883, 7499], [893, -6881], [-4409, -1843]]) / 13882
    np.testing.assert_allclose(model.coef_, wanted, **CLOSE)
    block = np.array([[12914369, -5477743], [-5477743, 7803377]]) / 192709924
    np.testing.assert_allclose(model.covariance_, [block] * 3, **CLOSE)


@pytest.mark.parametrize(
    ("name", "mean", "spread"),
    [
        ("NHERD project", "47/868 269/868 47/868", "99/1114 99/3490 99/1114"),
        ("NHERD exact", "-3/154 24/77 -3/154", "4/25 25/676 4/25"),
        ("NHERD full", "-3/28 15/28 -3/28", "411/784 27/784 411/784"),
        ("AROW drop", "-10/77 65/154 -10/77", "48/77 57/154 48/77"),
    ],
)
def test_the_intercept_is_a_feature_of_its_own(name, mean, spread):
    mean, spread = numbers(mean), numbers(spread)
    model = learner(*name.split(), fit_intercept=True).partial_fit(ROWS, OPPOSITE, TWO)
    np.testing.assert_allclose(model.coef_, mean[None, :2], **CLOSE)
    np.testing.assert_allclose(model.intercept_, mean[2:], **CLOSE)
    np.testing.assert_allclose(model.intercept_variance_, spread[2:], **CLOSE)
    if name == "NHERD full":
        off = -11 / 784
        wanted = [[spread[0], off], [off, spread[1]]]
        np.testing.assert_allclose(model.covariance_, wanted, **CLOSE)
    else:
        np.testing.assert_allclose(model.covariance_, spread[None, :2], **CLOSE)


def test_three_classes_with_intercept_and_a_tie():
    # At the second row the other classes both score 0: the lowest index is the rival.
    model = NHERD().partial_fit(THREE_ROWS, THREE, THREE)
    wanted = [
        "17678086408/2936536974371 482916068469/2936536974371 46588429978/2936536974371",
        "-124/4823 -807/4823 -124/4823",
        "1000399327324/2936536974371 500199663662/2936536974371 500199663662/2936536974371",
    ]
    mean = np.array([numbers(line) for line in wanted])
    np.testing.assert_allclose(model.coef_, mean[:, :2], **CLOSE)
    np.testing.assert_allclose(model.intercept_, mean[:, 2], **CLOSE)


def test_the_voted_perceptron_keeps_all_its_vectors():
    model = VotedPerceptron(fit_intercept=False).partial_fit(ROWS, SAME, classes=TWO)
    # (1, 2) after the first row, (2, 1) after the second: one vote each.
    points = np.array([[1.0, 1.0], [1.0, -0.75], [-1.0, -1.0]])
    np.testing.assert_allclose(model.decision_function(points), [1, 0, -1], **CLOSE)


def test_the_mean_is_the_best_one():
    """Equation 7, with half the squared hinge, by a general minimiser."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(6, 3)), np.array([1, -1, 1, 1, -1, -1])
    model = NHERD(0.7, covariance="full", fit_intercept=False).partial_fit(X, y, TWO)
    S, mu = model.covariance_, model.coef_[0]
    x, sign = np.array([0.5, -1.0, 2.0]), -np.sign(mu @ [0.5, -1.0, 2.0])
    P = np.linalg.inv(S)

    def cost(w):
        hinge = max(0.0, 1 - sign * (w @ x))
        return (w - mu) @ P @ (w - mu) / 2 + 0.7 * hinge**2 / 2

    best = minimize(cost, mu, method="BFGS", options={"gtol": 1e-8})
    model.partial_fit(x[None], [int(sign)])
    np.testing.assert_allclose(model.coef_[0], best.x, atol=1e-6)


@pytest.mark.parametrize("covariance", ["full", "exact"])
def test_the_stretch_is_the_best_one(covariance):
    """Equation 8 over all matrices, and over diagonal ones."""
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(6, 3)), np.array([1, -1, 1, 1, -1, -1])
    model = NHERD(0.7, covariance=covariance, fit_intercept=False).partial_fit(X, y, TWO)
    S = model.covariance_ if covariance == "full" else np.diag(model.covariance_[0])
    x = np.array([0.5, -1.0, 2.0])
    sign = -np.sign(model.coef_[0] @ x)
    P = np.linalg.inv(S)

    def cost(a):
        A = a.reshape(3, 3) if covariance == "full" else np.diag(a)
        D = A - np.eye(3)
        return np.trace(D.T @ P @ D @ S) / 2 + 0.7 * x @ A @ S @ A.T @ x / 2

    start = np.eye(3).ravel() if covariance == "full" else np.ones(3)
    best = minimize(cost, start, method="BFGS", options={"gtol": 1e-8}).x
    A = best.reshape(3, 3) if covariance == "full" else np.diag(best)
    model.partial_fit(x[None], [int(sign)])
    wanted = A @ S @ A.T
    got = model.covariance_ if covariance == "full" else np.diag(model.covariance_[0])
    np.testing.assert_allclose(got, wanted, atol=1e-5)


def trained(name, covariance, **options):
    """A learner after twenty rows, and one more row that it gets wrong."""
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(20, 4)), rng.choice([-1, 1], 20)
    model = learner(name, covariance, **options).partial_fit(X, y, TWO)
    x = rng.normal(size=4)
    return model, x, -int(np.sign(model.coef_[0] @ x))


@pytest.mark.parametrize("C", [0.1, 1.0, 30.0])
def test_the_theorem_of_the_paper(C):
    """Equation 11: the new covariance is A S A', and the whole inverse grows as equation 12."""
    model, x, label = trained("NHERD", "full", C=C)
    S = model.covariance_
    P = np.linalg.inv(S)
    A = np.linalg.inv(P + C * np.outer(x, x)) @ P
    model.partial_fit(x[None], [label])
    np.testing.assert_allclose(model.covariance_, A @ S @ A.T, rtol=0, atol=1e-13)
    gain = 2 * C + C**2 * (x @ S @ x)
    wanted = P + gain * np.outer(x, x)
    np.testing.assert_allclose(np.linalg.inv(model.covariance_), wanted, rtol=1e-9)


@pytest.mark.parametrize("name", ["NHERD", "AROW", "stdev", "variance", "soft-1", "soft-2"])
def test_drop_is_the_diagonal_of_full(name):
    drop, full = (learner(name, form).partial_fit(ROWS[:1], [1], TWO) for form in ("drop", "full"))
    np.testing.assert_allclose(drop.covariance_[0], np.diag(full.covariance_), **CLOSE)
    np.testing.assert_allclose(drop.coef_, full.coef_, **CLOSE)


@pytest.mark.parametrize("C", [0.01, 1.0, 50.0])
def test_nherd_narrows_more_than_arow(C):
    """Section 4.3: the ratio of the variances is 1 + C x^2 S."""
    model, x, label = trained("NHERD", "exact", C=C)
    before = model.covariance_[0]
    after = model.partial_fit(x[None], [label]).covariance_[0]
    arow = before / (1 + C * x**2 * before)
    np.testing.assert_allclose(arow / after, 1 + C * x**2 * before, rtol=1e-12)
    # from S = I the library's own two updates
    one, other = (learner(n, f, C=C) for n, f in (("AROW", "project"), ("NHERD", "exact")))
    ratio = [m.partial_fit(x[None], [label], TWO).covariance_ for m in (one, other)]
    np.testing.assert_allclose((ratio[0] / ratio[1])[0], 1 + C * x**2, rtol=1e-12)


@pytest.mark.parametrize("form", ["stdev", "variance"])
def test_confidence_is_reached(form):
    """After an update the row's margin is what the confidence asks for, not more."""
    model, x, label = trained(form, "full")
    model.partial_fit(x[None], [label])
    margin, variance = label * (model.coef_[0] @ x), x @ model.covariance_ @ x
    wanted = ndtri(0.9) * (np.sqrt(variance) if form == "stdev" else variance)
    np.testing.assert_allclose(margin, wanted, rtol=1e-11)
