# Every target sets itself up in .venv; nothing but Python with venv and pip is needed beforehand.

PYTHON ?= python3
ARGS ?=
BIN := .venv/bin

# Pins what pip installs, and what it builds the package with (newer versions of pip read the second one for that).
export PIP_CONSTRAINT := constraints.txt
export PIP_BUILD_CONSTRAINT := constraints.txt
export PIP_DISABLE_PIP_VERSION_CHECK := 1
PIP := $(BIN)/python -m pip install -qq

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL:
.PHONY: help demo test coverage lint format bench bench-scale docs wheel clean

help:  ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-11s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: .venv/.installed  ## train a plain GCN and PI-GNN on noisy labels and compare them (results in runs/demo)
	@$(BIN)/python -m pignn demo $(ARGS)

test: .venv/.installed-dev  ## run all tests; PIGNN_DATA=folder adds those on real data, ARGS="-k word" selects
	@OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist worksteal --cov=pignn --cov-report= $(ARGS)
	@echo "coverage of src/pignn: $$($(BIN)/python -m coverage report --format=total) % (make coverage shows it by file)"

coverage: .venv/.installed-dev  ## show which lines the last `make test` did not reach
	@$(BIN)/python -m coverage report --show-missing --skip-covered

lint: .venv/.installed-dev  ## check style, types, spelling and the order of imports between packages
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-cache > .venv/imports.txt || { cat .venv/imports.txt; exit 1; }
	@$(BIN)/codespell src docs examples benchmarks README.md CONTRIBUTING.md CHANGELOG.md
	@$(BIN)/codespell --builtin en-GB_to_en-US tests

format: .venv/.installed-dev  ## mend what lint can mend
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

bench: .venv/.installed  ## print time and memory ratios to the dense way
	@$(BIN)/python benchmarks/pairs.py
	@$(BIN)/python benchmarks/epoch.py

bench-scale: .venv/.installed  ## print how cost grows with the graph, up to millions of nodes (about an hour)
	@$(BIN)/python benchmarks/scale.py $(ARGS)

# Material announces its successor at every build unless told not to.
docs: export NO_MKDOCS_2_WARNING := 1
# The tutorials are small: beside another busy program several threads would only wait for each other.
docs: export OMP_NUM_THREADS := 1
docs: .venv/.installed-docs  ## build the documentation into site/
	@$(BIN)/python -m mkdocs build --strict --site-dir site

wheel: .venv/.installed  ## build a wheel into dist/
	@$(BIN)/python -m pip wheel -q --no-deps --wheel-dir dist .

clean:  ## remove everything that make made, except runs/
	rm -rf .venv dist site .pytest_cache .mypy_cache .ruff_cache .hypothesis

# A stamp is written last, so an interrupted installation is taken up again next time.
.venv/.installed: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "pignn needs Python 3.11 or newer as '$(PYTHON)'; choose another with: make PYTHON=python3.12" >&2; exit 1; }
	@echo "installing into .venv (once, about two minutes)"
	@$(PYTHON) -m venv .venv
	@$(PIP) --editable .
	@touch $@

.venv/.installed-%: .venv/.installed
	@echo "installing the tools for $* into .venv (once)"
	@$(BIN)/python -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["dependency-groups"]["$*"], sep="\n")' > .venv/$*.txt
	@$(PIP) --requirement .venv/$*.txt
	@touch $@
