# Everything that a fresh machine with Python >= 3.11, git and make needs: `make demo`, `make test`.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
RUN ?= runs/demo-$(shell date +%Y%m%d-%H%M%S)

export WMRL_GYM_TEST_BACKENDS

.PHONY: demo test test-fast lint benchmark clean

demo: $(VENV)/demo.stamp  ## Train with a world model in the loop on real tasks, then show what it bought.
	$(BIN)/wmrl-gym train --run $(RUN)

# It tests every sandbox; without a Docker engine choose the others:
# make test WMRL_GYM_TEST_BACKENDS=forkserver,bubblewrap,landlock
test: $(VENV)/dev.stamp lint  ## The whole test suite.
	$(BIN)/python -m pytest -m "not llm and not vllm"

test-fast: $(VENV)/dev.stamp  ## The tests that take no longer than a few seconds each.
	$(BIN)/python -m pytest -m "not slow and not llm and not vllm"

lint: $(VENV)/dev.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

benchmark: $(VENV)/dev.stamp  ## Costs of the parts, as tables.
	$(BIN)/python benchmarks/correction_cost.py
	$(BIN)/python benchmarks/wrapper_overhead.py
	$(BIN)/python benchmarks/sandbox_start.py

$(VENV)/bin/python:
	$(PYTHON) -c "import sys; sys.exit(sys.version_info < (3, 11) and 'Python 3.11 or newer is needed')"
	$(PYTHON) -m venv $(VENV)

$(VENV)/demo.stamp: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable ".[sb3,cli,tasks]"
	touch $@

$(VENV)/dev.stamp: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable ".[dev]"
	touch $@

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache
