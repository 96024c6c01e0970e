from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

import pytest
from hypothesis import settings

from tests import compiling

# The same examples on every run, and no time limit on one: the machine may be busy. `make test`
# draws few, `make slow` draws many for the same tests.
settings.register_profile("few", max_examples=15, derandomize=True, deadline=None)
settings.register_profile("many", max_examples=100, derandomize=True, deadline=None)
settings.load_profile("few")


def pytest_configure() -> None:
    compiling.take_turns()


@pytest.fixture
def disk_of() -> Callable[[int], AbstractContextManager[None]]:
    """A context in which no file can grow beyond so many bytes; POSIX only."""
    resource = pytest.importorskip("resource")

    @contextmanager
    def limited(n_bytes: int) -> Iterator[None]:
        # Python ignores the signal that comes with the error
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, before[1]))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)

    return limited
