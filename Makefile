# `make demo` and `make test` work from a fresh clone: each makes what it needs.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
EDITABLE := -e core -e plugins/math -e plugins/ifeval -e trainer
SOURCES := core/src plugins/math/src plugins/ifeval/src trainer/src

.PHONY: demo test check format bench clean

demo: $(VENV)/.stamp-demo
	$(BIN)/cascade run recipes/laptop.yaml

test: $(VENV)/.stamp-dev
	$(BIN)/python -m pytest -q -n 2

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
	$(BIN)/python benchmarks/grpo_vs_trl.py

clean:
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis

$(VENV)/.stamp-demo: constraints.txt core/pyproject.toml plugins/math/pyproject.toml plugins/ifeval/pyproject.toml trainer/pyproject.toml
	scripts/make_venv.sh $(PYTHON) $(VENV)
	$(BIN)/pip install -q -c constraints.txt $(EDITABLE)
	touch $@

$(VENV)/.stamp-dev: $(VENV)/.stamp-demo pyproject.toml
	$(BIN)/pip install -q -c constraints.txt -e ".[dev]"
	touch $@
