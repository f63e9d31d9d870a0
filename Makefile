PYTHON ?= python3
SCRIPTS := $(if $(filter Windows_NT,$(OS)),Scripts,bin)
BIN := .venv/$(SCRIPTS)
READY := .venv/.ready
USERS := .venv/.users
OLDEST := .venv-oldest/$(SCRIPTS)
NUMBERS := $(addprefix tests/,kernels sklearn mds pca regression svm gp spectrum solve rkhs data reading \
    factorial pictures test_estimator.py test_transformers.py test_fourier.py test_points.py test_gram.py)

# Two pytest workers share two cores: more threads inside each would only wait for one another, and those
# of OpenMP (torch, scikit-learn) wait by counting: a fit of torch's arrays takes four times the CPU.
export OPENBLAS_NUM_THREADS ?= 1
export OMP_NUM_THREADS ?= 1

.PHONY: demo docs gallery release test test-all test-oldest test-oldest-numbers lint browser clean

# The demonstration needs what users need, and not what developers do, unless that is there.
demo: $(if $(wildcard $(READY)),$(READY),$(USERS))
	$(BIN)/mercer demo planets --out demo
	@cp demo/planets.html demo/report.html
	@echo "The page: file://$(CURDIR)/demo/report.html"

# Pages from docs/, every block run and every picture drawn; a warning is an error.
docs: .venv/.docs
	$(BIN)/python -m sphinx -W --keep-going -q docs docs/_build
	@echo "The pages: file://$(CURDIR)/docs/_build/index.html"

.venv/.docs: $(READY)
	$(BIN)/python -m pip install --quiet --group docs
	touch $@

# A wheel and a source archive in dist/, each tried in a bare environment.
release: $(READY)
	$(BIN)/python -m pip install --quiet build
	PYTHON=$(CURDIR)/$(BIN)/python .ci/release

# Every picture of the gallery, in demo/gallery.
gallery: $(READY)
	mkdir -p demo/gallery
	cd demo/gallery && for script in ../../examples/gallery/*/*.py; do ../../$(BIN)/python $$script || exit 1; done

test: $(READY) lint browser
	$(BIN)/python -m pytest -q -n 2

# Tests of the page use Debian's browser; where it cannot be installed they are skipped.
browser:
	@command -v chromium >/dev/null || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null \
	    && apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq chromium; } >/dev/null 2>&1 || true

test-all: $(READY) lint browser
	HYPOTHESIS_PROFILE=thorough $(BIN)/python -m pytest -q -n 2 -m "slow or not slow"

# The same tests with the lowest versions that pyproject.toml allows, the laws with few examples.
test-oldest: .venv-oldest/.ready browser
	HYPOTHESIS_PROFILE=few $(OLDEST)/python -m pytest -q -n 2

# Of them those that numpy, scipy, scikit-learn and readers of files can break.
test-oldest-numbers: .venv-oldest/.ready
	HYPOTHESIS_PROFILE=few $(OLDEST)/python -m pytest -q -n 2 $(NUMBERS)

lint: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/python .ci/check_types.py
	$(BIN)/lint-imports
	$(BIN)/codespell src tests docs README.md CONTRIBUTING.md CHANGELOG.md

# Each package is named while it is fetched: fetching is most of the wait.
$(USERS): pyproject.toml
	@echo "Setting up once, in the folder .venv: numpy, scipy, scikit-learn and what pages need"
	@$(PYTHON) -m venv .venv && rm -f .venv/.failed
	@{ $(BIN)/python -m pip install --disable-pip-version-check --progress-bar off \
	    --editable ".[report]" 2>&1 || touch .venv/.failed; } \
	    | sed -u -n -e 's/^ *Downloading \([A-Za-z_]*\)-[^ ]* \((.*)\).*/  fetching \1 \2/p' \
	    -e 's/^Installing collected.*/  installing/p' -e 's/^ERROR.*/&/p'
	@test ! -e .venv/.failed && touch $(USERS)

$(READY): pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable ".[all]" --group dev
	touch $(READY)

.venv-oldest/.ready: pyproject.toml .ci/oldest.py
	$(PYTHON) -m venv .venv-oldest
	$(OLDEST)/python -m pip install --quiet --upgrade pip
	$(OLDEST)/python .ci/oldest.py > .venv-oldest/constraints.txt
	$(OLDEST)/python -m pip install --quiet --editable ".[all]" --group test \
	    --constraint .venv-oldest/constraints.txt
	touch $@

clean:
	rm -rf docs/_build docs/_pictures .venv .venv-oldest .mypy_cache .pytest_cache .ruff_cache .hypothesis
