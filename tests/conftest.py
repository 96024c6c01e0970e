from hypothesis import settings

# The same examples on every run, and no time limit on one: the machine may be busy.
settings.register_profile("herder", derandomize=True, deadline=None)
settings.load_profile("herder")
