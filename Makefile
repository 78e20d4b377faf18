# Everything here sets itself up: it needs Python 3.11 or newer, pip and make.
PYTHON ?= python3
BIN := .venv/bin

# Tests run side by side, one process for each core; TESTS may name files or folders.
PYTEST := $(BIN)/python -m pytest -n auto --dist worksteal
TESTS ?=

.PHONY: help demo test quick test-all coverage test-wheel test-oldest test-pythons install-size lint
.PHONY: fuzz corpus faults kills test-bounds reliability
.PHONY: bench bench-serve paper paper-quick auto defaults regression many classes big-ads big-ads-small frontier docs clean

help:  ## list these targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

demo: .venv/installed  ## the paper's experiment in small
	$(BIN)/dwindle demo

test: lint  ## lint, types, import contracts and all tests
	$(PYTEST) $(TESTS)

quick: lint  ## the same without the slow tests
	$(PYTEST) -m "not slow" $(TESTS)

test-all: lint  ## the same with every combination of settings and many more examples
	DWINDLE_FULL=1 $(PYTEST) $(TESTS)

ATTACK := PYTHONPATH=tests $(BIN)/python -m
FUZZ ?= --inputs 100000
KILLS ?= --kills 200
FAULTS ?=

fuzz: .venv/developing  ## inputs by chance against plain readers; FUZZ='--inputs 1000000 --seed 1' for more
	$(ATTACK) attacks.fuzz $(FUZZ)

corpus: .venv/developing  ## grow the corpus of `make fuzz` by following the coverage of kernels run as Python
	$(BIN)/python -m pip install --quiet --editable ".[fuzz]"
	$(ATTACK) attacks.guided

faults: .venv/developing  ## every write, sync, rename and allocation of the commands fails once, in turn
	$(ATTACK) attacks.faults $(FAULTS)

kills: .venv/developing  ## commands killed in every phase and run again; KILLS='--kills 1000' for more
	$(ATTACK) attacks.kills $(KILLS)

reliability: .venv/developing  ## the page about what these found, from docs/reliability.json
	$(ATTACK) attacks.page

test-bounds: .venv/developing  ## all tests with every index of compiled code checked; takes long
	NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR=$(CURDIR)/build/bounds $(PYTEST) $(TESTS)

coverage: .venv/developing  ## the share of Python lines that the tests run
	$(PYTEST) --cov --cov-report=term $(TESTS)

test-wheel:  ## the quick tests against the built wheel, in a clean environment without src
	.ci/test-wheel $(PYTHON)

test-oldest:  ## the same with the oldest dependencies that are allowed
	.ci/test-wheel $(PYTHON) oldest

test-pythons:  ## the same on every Python from 3.11 to 3.14 that is at hand
	.ci/test-pythons

install-size:  ## what `pip install dwindle` adds to an empty environment, and each extra
	.ci/install-size $(PYTHON)

lint: .venv/developing  ## lint, types, import contracts
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: .venv/developing  ## side by side with the peers, in one run of 25 minutes (DWINDLE_DATA)
	$(BIN)/python -m benchmarks

bench-serve: .venv/developing  ## the server beside River + FastAPI and vw --daemon, into docs/ (needs wrk)
	$(BIN)/python -m benchmarks.serve

paper: .venv/developing  ## the paper's claims, tables and figures from the raw data, 18 minutes of processor time, into docs/ (DWINDLE_DATA)
	$(BIN)/python -m experiments

paper-quick: .venv/developing  ## the same in small, into build/paper-quick
	$(BIN)/python -m experiments --quick --output build/paper-quick

big-ads: .venv/developing  ## the paper's largest experiment, twice, 3 billion features in less than 2 GB, into docs/
	$(BIN)/python -m experiments.big_ads

big-ads-small: .venv/developing  ## the same with a thousandth of the examples, into build/big-ads-small
	$(BIN)/python -m experiments.big_ads --scale 0.001 --max-live 1000000 --output build/big-ads-small

auto: .venv/developing  ## models without options beside those of searches, into docs/ (DWINDLE_DATA)
	$(BIN)/python -m experiments.auto

defaults: .venv/developing  ## how good the defaults are, beside Vowpal Wabbit's, into docs/ (DWINDLE_DATA)
	$(BIN)/python -m experiments.defaults

many: .venv/developing  ## training on many machines: quality, bits though workers die, cost, into docs/ (DWINDLE_DATA)
	$(BIN)/python -m experiments.many

regression: .venv/developing  ## regression beside SGDRegressor and Vowpal Wabbit, into docs/ (DWINDLE_DATA)
	$(BIN)/python -m experiments.regression

classes: .venv/developing  ## twenty classes of text beside Vowpal Wabbit, into docs/
	$(BIN)/python -m experiments.classes

frontier: .venv/developing  ## accuracy against model size, all methods, into docs/; 20 minutes (DWINDLE_DATA)
	$(BIN)/python -m experiments.frontier

docs: .venv/documenting  ## the documentation site, into build/site; a broken link fails
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --clean --strict

clean:  ## remove the virtual environment and all caches
	rm -rf .venv .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis build
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

.venv/installed: pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --editable .
	touch $@

.venv/developing: .venv/installed
	$(BIN)/python -m pip install --quiet --editable ".[dev]"
	touch $@

.venv/documenting: .venv/installed
	$(BIN)/python -m pip install --quiet --editable ".[docs]"
	touch $@
