# `make demo` and `make test` work from a fresh clone: each makes what it needs.
PYTHON ?= python3
VENV ?= .venv
VERL_VENV ?= .venv-verl
BIN := $(VENV)/bin
EDITABLE := -e core -e plugins/math -e plugins/code -e plugins/ifeval -e trainer
SOURCES := core/src plugins/math/src plugins/code/src plugins/ifeval/src trainer/src

# Real parts that take minutes, or need something installed, have targets of their own.
TESTS := core/tests plugins/math/tests plugins/ifeval/tests trainer/tests tests
ELSEWHERE := --ignore-glob='*test_sandbox*' --ignore-glob='*test_ray*' \
	--ignore=tests/verl --ignore=tests/peers \
	--ignore=tests/test_wheels.py --ignore=tests/test_third_party.py \
	--ignore=tests/test_tutorial.py --ignore=tests/test_broken_packs.py \
	--ignore=tests/test_kill_resume.py

.PHONY: demo test test-kill test-service test-code test-docker test-packaging test-peers test-ray test-verl check format \
	bench docs wheels clean

demo: $(VENV)/.stamp-demo
	$(BIN)/cascade run recipes/laptop.yaml

test: $(VENV)/.stamp-dev
	$(BIN)/python -m pytest -q -n 2 $(TESTS) $(ELSEWHERE)

# A run of a minute, killed ten times at random moments.
test-kill: $(VENV)/.stamp-dev
	$(BIN)/python -m pytest -q tests/test_kill_resume.py

# The service's part of `make test`, alone.
test-service: $(VENV)/.stamp-dev
	$(BIN)/python -m pytest -q core/tests/test_service_*.py core/tests/test_client_*.py

# Untrusted programs in real sandboxes; installs bubblewrap and g++ where it may.
test-code: $(VENV)/.stamp-dev
	scripts/system_packages.sh
	$(BIN)/python -m pytest -q core/tests/test_sandbox_*.py plugins/code/tests

# The Docker sandbox against a real engine; installs and starts Debian's where none runs (root).
test-docker: $(VENV)/.stamp-dev
	scripts/test_docker.sh $(BIN)/python

# Wheels, a pack from outside, deliberately broken packs, the tutorial's commands: clean venvs.
test-packaging: $(VENV)/.stamp-dev
	$(BIN)/python -m pytest -q tests/test_wheels.py tests/test_third_party.py \
		tests/test_broken_packs.py tests/test_tutorial.py

# Other trainers' own clients against the service, in a venv of their own.
test-peers: $(VENV)/.stamp-dev
	$(BIN)/python -m pytest -q tests/peers

test-ray: $(VENV)/.stamp-dev
	$(BIN)/python -m pytest -q core/tests/test_ray_node.py core/tests/test_ray_cluster.py

# verl for real, on a CPU, in a virtual environment of its own (2.4 GB): minutes, not seconds.
test-verl: $(VERL_VENV)/.stamp-verl
	$(VERL_VENV)/bin/python -m pytest -q tests/verl

check: $(VENV)/.stamp-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy $(SOURCES)
	$(BIN)/lint-imports

format: $(VENV)/.stamp-dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(VENV)/.stamp-dev
	$(BIN)/python benchmarks/ifeval_verdicts.py
	$(BIN)/python benchmarks/math_verdicts.py
	$(BIN)/python benchmarks/code_tests.py
	$(BIN)/python benchmarks/grpo_vs_trl.py

docs: $(VENV)/.stamp-dev
	$(BIN)/python scripts/make_config_reference.py
	$(BIN)/python scripts/make_cli_reference.py
	$(BIN)/python scripts/make_check_reference.py
	$(BIN)/zensical build --strict -f mkdocs.yml

# Each distribution's own tests against its wheel, alone beside core's: slow, so not in `test`.
wheels: $(VENV)/.stamp-dev
	$(BIN)/python scripts/test_wheels.py

clean:
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis

$(VENV)/.stamp-demo: constraints.txt core/pyproject.toml plugins/math/pyproject.toml plugins/code/pyproject.toml plugins/ifeval/pyproject.toml trainer/pyproject.toml
	scripts/make_venv.sh $(PYTHON) $(VENV)
	$(BIN)/pip install -q -c constraints.txt $(EDITABLE)
	touch $@

$(VENV)/.stamp-dev: $(VENV)/.stamp-demo pyproject.toml
	$(BIN)/pip install -q -c constraints.txt -e ".[dev]"
	touch $@

$(VERL_VENV)/.stamp-verl: constraints.txt core/pyproject.toml plugins/math/pyproject.toml plugins/ifeval/pyproject.toml trainer/pyproject.toml
	scripts/make_venv.sh $(PYTHON) $(VERL_VENV)
	$(VERL_VENV)/bin/pip install -q -c constraints.txt -e core -e plugins/math -e plugins/ifeval -e 'trainer[verl]' pytest hypothesis
	touch $@
