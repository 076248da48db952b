# On a fresh machine with Python 3.11-3.13, git and make, `make demo` is all it takes.
SHELL         := bash
MAKEFLAGS     += --no-print-directory
.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help demo lab test lint bench browser clean pytest test-oldest test-newest

# .venv holds whichever JAX its Python can have; each end of the supported range has an environment for its
# tests, since JAX 0.11 and later need Python 3.12.
PYTHONS        := 3.13 3.12 3.11
oldest_pythons := 3.11
oldest_jax     := jax==0.10.*
newest_pythons := 3.13 3.12
newest_jax     := jax==0.12.*

QUICKSTART := notebooks/01_quickstart.ipynb
BIN        := .venv/bin

help: ## show this list
	@echo "make TARGET, where TARGET is one of"
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  \1	\2/p' Makefile

demo: .venv/.lab ## run the quickstart notebook, summarise it here and write build/01_quickstart.html
	@echo "==> running $(QUICKSTART)"
	@$(BIN)/python -m pwlab demo

lab: .venv/.lab ## open JupyterLab on the quickstart notebook
	@echo "==> opening JupyterLab (Ctrl-C ends it)"
	@$(BIN)/python -m jupyterlab $(if $(filter 0,$(shell id -u)),--allow-root) $(QUICKSTART)

test: lint browser pytest ## check everything: lint, then the tests on the oldest and on the newest JAX
	@case "$$($(about))" in *" JAX 0.10."*) $(MAKE) test-newest;; *) $(MAKE) test-oldest;; esac

browser:
	@tools/browser.sh

about = $(BIN)/python -c 'import jax, sys; print("Python %d.%d," % sys.version_info[:2], "JAX", jax.__version__)'

pytest:
	@echo "==> pytest with $$($(about))"
	@$(BIN)/python -m pytest $(ARGS)

test-oldest test-newest: test-%:
	@if tools/find-python.sh $($*_pythons) >/dev/null; then \
	  $(MAKE) -s .venv-$*/.dev && $(MAKE) pytest BIN=.venv-$*/bin; \
	else \
	  printf '\n!!! NOT TESTED with %s: no Python %s was found\n\n' '$($*_jax)' '$($*_pythons)'; \
	fi

lint: .venv/.dev ## ruff, pyright and the layer contracts
	@echo "==> ruff check"
	@$(BIN)/ruff check
	@echo "==> ruff format --check"
	@$(BIN)/ruff format --check
	@echo "==> pyright"
	@$(BIN)/pyright --pythonpath $(BIN)/python
	@echo "==> lint-imports"
	@$(BIN)/lint-imports --no-logo

bench: .venv/.dev ## run every benchmark; each writes JSON to build/bench/
	@mkdir -p build/bench
	@for name in lazy tenancy views; do \
	  echo "==> benchmarks/$$name.py > build/bench/$$name.json"; \
	  $(BIN)/python benchmarks/$$name.py --json > build/bench/$$name.json || exit 1; \
	done

clean: ## remove what these targets made, the environments included
	rm -rf .venv .venv-oldest .venv-newest build dist .pytest_cache .ruff_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# A stamp says what an environment was last installed with; a change of pyproject.toml makes it stale.
.venv/.lab: pyproject.toml
	@tools/venv.sh .venv lab "$(PYTHONS)" && touch $@
.venv/.dev: pyproject.toml
	@tools/venv.sh .venv lab,dev "$(PYTHONS)" && touch .venv/.lab $@
.venv-%/.dev: pyproject.toml
	@PYTHON= tools/venv.sh .venv-$* lab,dev "$($*_pythons)" "$($*_jax)" && touch $@
