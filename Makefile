# Needs Python 3.11+ and make; everything else goes into .venv.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt

# What the compiled loops are proved by; the rest would take hours without the compiler.
LOOPS := tests/test_csr.py tests/fields/test_retrace.py tests/fields/test_hidden_retrace.py \
         tests/fields/test_conditional.py tests/fields/test_moment.py tests/golden tests/laws \
         tests/maximise tests/models tests/kernel/test_candidates.py tests/kernel/test_choice.py \
         tests/kernel/test_herding.py tests/kernel/test_mmd.py tests/kernel/test_thinning.py \
         tests/learn/test_boosted_features.py tests/learn/test_boosted_model.py \
         tests/online/test_hand_values.py tests/online/test_merging.py tests/online/test_voted.py \
         tests/samplers/test_gibbs.py tests/samplers/test_herded.py tests/samplers/test_clusters.py \
         tests/samplers/test_sampling.py tests/samplers/test_annealing.py tests/samplers/test_belief.py \
         tests/study/test_retrace.py \
         tests/apps/test_chain_twin.py tests/apps/test_mixture_twin.py

.PHONY: demo test lint docs papers bench slow browser

.venv: .venv/stamp

.venv/stamp: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "herder needs Python 3.11 or newer: make PYTHON=python3.x")'
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(PIP) -e '.[all,dev]'
	@touch $@

.venv/stamp-docs: .venv/stamp
	@echo "Installing what the site is built with"
	$(PIP) -e '.[docs]'
	@touch $@

.venv/stamp-bench: .venv/stamp
	$(PIP) -e '.[bench]'
	@touch $@

demo: .venv/stamp
	$(BIN)/herder demo -o demo/index.html

lint: .venv/stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright src
	$(BIN)/lint-imports

# Its many processes read the bytecode that the first of them writes, also where that is switched off.
test: export PYTHONDONTWRITEBYTECODE =
test: lint
	$(BIN)/python -m pytest -q -n 2 --dist loadfile

slow: .venv/stamp
	$(BIN)/pyright
	$(BIN)/python -m pytest -q -n 2 -m 'slow or hypothesis' --hypothesis-profile many tests
	NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest -q -n 2 --hypothesis-profile many $(LOOPS)

.venv/stamp-browser: .venv/stamp
	$(PIP) -e '.[browser]'
	@touch $@

# Skipped, with a message, where there is no Chromium.
browser: .venv/stamp-browser
	$(BIN)/python -m pytest -q -rs -n 0 -m browser tests/explore

docs: .venv/stamp-docs
	@echo "Building the site; the scripts of the gallery that changed are run, all of them take about ten minutes"
	$(BIN)/python -m sphinx -W --keep-going -b html docs docs/_build/html
	@echo "The site: $(CURDIR)/docs/_build/html/index.html"

papers: .venv/stamp
	$(BIN)/python -m papers

bench: .venv/stamp-bench
	set -e; for script in benchmarks/[a-z]*.py; do $(BIN)/python $$script; done
