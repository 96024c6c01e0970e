from hypothesis import settings

# The same examples on every run, and no time limit on one: the machine may be busy. `make test`
# draws few, `make slow` draws many for the same tests.
settings.register_profile("few", max_examples=15, derandomize=True, deadline=None)
settings.register_profile("many", max_examples=100, derandomize=True, deadline=None)
settings.load_profile("few")
