from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from herder import BoltzmannMachine
from herder.core.blas import one_blas_thread


@pytest.fixture(autouse=True)
def two_threads():
    with one_blas_thread():  # all libraries are loaded
        pass
    with threadpool_limits(2, user_api="blas"):
        yield


def threads():
    return {found["num_threads"] for found in threadpool_info() if found["user_api"] == "blas"}


def test_a_context_limits_and_restores():
    assert threads() == {2}
    with one_blas_thread():
        assert threads() == {1}
        with one_blas_thread():
            assert threads() == {1}
        assert threads() == {1}
    assert threads() == {2}


def test_an_error_restores():
    with pytest.raises(ZeroDivisionError), one_blas_thread():
        raise ZeroDivisionError
    assert threads() == {2}


def test_a_function_is_limited_during_its_calls():
    @one_blas_thread()
    def limited():
        """Return the threads of now."""
        return threads()

    assert limited() == {1}
    assert threads() == {2}
    assert limited.__doc__ == "Return the threads of now."


def test_contexts_that_overlap_in_threads_restore_with_the_last():
    """One enters, another enters, the first leaves, the other leaves."""
    steps = [Barrier(2, timeout=10) for _ in range(3)]

    def first():
        with one_blas_thread():
            steps[0].wait()
            steps[1].wait()
        steps[2].wait()

    def second():
        steps[0].wait()
        with one_blas_thread():
            steps[1].wait()
            steps[2].wait()
            return threads()

    with ThreadPoolExecutor(2) as pool:
        done = pool.submit(first), pool.submit(second)
        done[0].result()
        assert done[1].result() == {1}  # though the first has left
    assert threads() == {2}


def test_machines_fitted_in_threads_leave_the_threads_as_they_were():
    rows = np.random.default_rng(0).integers(0, 2, (60, 5))
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: BoltzmannMachine().fit(rows), range(12)))
    assert threads() == {2}
