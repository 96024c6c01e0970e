import pytest

from herder import BoostedClassifier, BoostedField
from herder.learn import BoltzmannMachine
from tests.estimator_checks import estimator_checks

# Rows of one value, and rows that decide one another, are what some checks draw.
pytestmark = pytest.mark.filterwarnings(
    "ignore::herder.learn.rows.ConstantColumnWarning",
    "ignore::sklearn.exceptions.ConvergenceWarning",
)

#: The checks draw measurements, which only a machine with a threshold can take.
MACHINES = [
    BoltzmannMachine(binarize=0.0),
    BoltzmannMachine("pl-node", binarize=0.0),
    BoltzmannMachine(penalty="l1", binarize=0.0),
    BoltzmannMachine("ml", binarize=0.0),
    BoltzmannMachine("pcd", binarize=0.0, n_epochs=5),
]


def expected_failures(machine):
    if machine.method == "pl" and machine.penalty == "l2":
        return {}
    reason = "the check calls partial_fit, which is for 'pl' with squares and says so"
    return {"check_fit_score_takes_y": reason, "check_n_features_in_after_fitting": reason}


@estimator_checks(MACHINES, expected_failures)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


BOOSTED = [
    BoostedField(n_rounds=2),
    BoostedField("tree", n_rounds=2),
    BoostedField(n_rounds=2, early_stopping=True, weighted=True, resample=True),
]


@estimator_checks(BOOSTED, lambda field: {})
def test_scikit_learn_checks_of_boosted_fields(estimator, check):
    check(estimator)


CLASSIFIERS = [BoostedClassifier(BoostedField(n_rounds=2))]


@estimator_checks(CLASSIFIERS, lambda classifier: {})
def test_scikit_learn_checks_of_boosted_classifiers(estimator, check):
    check(estimator)
