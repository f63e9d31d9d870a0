PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready

# Two pytest workers share two cores: more threads inside each would only wait for one another.
export OPENBLAS_NUM_THREADS ?= 1

.PHONY: demo test test-all lint clean

demo: $(READY)
	$(BIN)/python examples/first_steps.py

test: $(READY) lint
	$(BIN)/python -m pytest -q -n 2

test-all: $(READY) lint
	HYPOTHESIS_PROFILE=thorough $(BIN)/python -m pytest -q -n 2 -m "slow or not slow"

lint: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/codespell src tests docs README.md CONTRIBUTING.md CHANGELOG.md

$(READY): pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable . --group dev
	touch $(READY)

clean:
	rm -rf .venv .mypy_cache .pytest_cache .ruff_cache .hypothesis
