# Every target does its own set-up; what is done already costs well under a second.
#
#   make demo    the guided tour on real brokers        make lint    style, types, imports, dead code
#   make cluster a shell in a Kubernetes of its own     make lock    renew requirements/*.txt
#   make test    lint and all tests                     make clean   remove what was built and brought
#   make unit    tests without servers but slow ones    make bench   tables of figures
#   make soak    tests that run for minutes
#
# Needs Python 3.11 or later; the tests of real servers and the demo also need Java 17 or 21 and
# Maven, the tests of Kubernetes, of object stores and `make cluster` Go 1.26 (some minutes, at
# first), `make soak` a browser and what builds images:
# apt-get install --no-install-recommends chromium buildah debootstrap

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := test
.DELETE_ON_ERROR:
# Kept bytecode is what lets pytest's workers, and the processes that tests start, begin at once.
unexport PYTHONDONTWRITEBYTECODE
.PHONY: setup demo cluster test ahead unit bench soak lint check lock clean

BIN := .venv/bin
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check
# More than processors: many tests wait for servers.
WORKERS ?= 6

# The locks are made for the first of these; later ones install the same files.
INTERPRETERS := python3.11 python3.12 python3.13 python3
PYTHON ?= $(firstword $(foreach name,$(INTERPRETERS),$(shell $(name) -c \
  'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $(name))))

setup: .venv/.dev

.venv/bin/python:
	@if [ -z "$(PYTHON)" ]; then \
	  echo "no Python 3.11 or later with venv: apt-get install python3 python3-venv" >&2; exit 1; fi
	@echo "making .venv with $(PYTHON)"
	@$(PYTHON) -m venv .venv

# Stamps: the demo must not wait for the tools of development, nor packages be installed again where
# pyproject.toml alone has changed, which has settings of tools as well.
.venv/.core: requirements/core.txt | .venv/bin/python
	@echo "installing requirements/core.txt"
	@$(PIP) install --require-hashes -r requirements/core.txt
	@touch $@

.venv/.package: pyproject.toml .venv/.core
	@$(PIP) install --no-deps --no-build-isolation -e .
	@touch $@

.venv/.dev: requirements/dev.txt .venv/.core | .venv/.package
	@echo "installing requirements/dev.txt"
	@$(PIP) install --require-hashes -r requirements/dev.txt
	@touch $@

.venv/.fleet: requirements/fleet.txt .venv/.dev
	@echo "installing requirements/fleet.txt"
	@$(PIP) install --require-hashes -r requirements/fleet.txt
	@touch $@

demo: .venv/.package
	@$(BIN)/python examples/demo/demo.py

cluster: .venv/.dev
	@PYTHONPATH=tests $(BIN)/python -m control_plane.clusters

lint: .venv/.dev
	@$(BIN)/ruff check --quiet .
	@$(BIN)/ruff format --quiet --check .
	@$(BIN)/mypy
	@$(BIN)/vulture
	@$(BIN)/lint-imports --no-logo
	@$(BIN)/python tests/checks/sentences.py operator

# A Kubernetes takes minutes to build, the first time: begun at once, in the background. Tests that
# need it wait for it; if it fails, they fail with the reason, which is in this log as well.
AHEAD_LOG := .cache/building.log
ahead:
	@mkdir -p .cache
	@python=$(or $(wildcard $(BIN)/python),$(PYTHON)); [ -z "$$python" ] || \
	  nohup $$python tests/control_plane/building.py all </dev/null >$(AHEAD_LOG) 2>&1 &

# One run of pytest, so that its summary is the last line; which tests share a worker and its servers
# is told in tests/scheduling.py. Lint runs beside it, and is heard of if it has something to say.
# The first time, one process compiles what each worker would compile for itself, all at once.
LINT_LOG := .cache/lint.log
test: ahead .venv/.fleet
	@$(MAKE) --no-print-directory lint </dev/null >$(LINT_LOG) 2>&1 & lint=$$!; \
	  trap 'kill $$lint 2>/dev/null || true' EXIT; \
	  [ -d tests/__pycache__ ] || $(BIN)/python -m pytest -q --collect-only >/dev/null || true; \
	  tests=0; $(BIN)/python -m pytest -q -n $(WORKERS) --hypothesis-profile=test || tests=$$?; \
	  wait $$lint || { cat $(LINT_LOG) >&2; exit 1; }; exit $$tests

# A third worker would collect all tests once more, and two processors have no time for it.
unit: .venv/.fleet
	@$(BIN)/python -m pytest -q -n 2 -m 'not slow and not soak' tests/unit

soak: ahead .venv/.fleet
	@$(BIN)/python -m pytest -q -m soak
	@$(BIN)/python -m pytest -q -m hypothesis --hypothesis-profile=soak tests/unit tests/oracle

bench: .venv/.fleet
	@$(BIN)/python tests/bench/run.py

check: lint unit

LOCK := $(BIN)/pip-compile --quiet --strip-extras --generate-hashes --allow-unsafe --no-header \
  --no-emit-index-url --no-emit-trusted-host --no-emit-find-links --resolver backtracking \
  --constraint requirements/constraints.txt

# Each lock agrees with the one before it, so that all can be installed together. Versions stay
# unless a requirement excludes them; UPGRADE=--upgrade, or --upgrade-package=NAME, renews them.
lock: .venv/.dev
	@$(LOCK) $(UPGRADE) --build-deps-for editable -o requirements/core.txt pyproject.toml
	@$(LOCK) $(UPGRADE) -c requirements/core.txt --extra dev -o requirements/dev.txt pyproject.toml
	@$(LOCK) $(UPGRADE) -c requirements/dev.txt --extra fleet -o requirements/fleet.txt pyproject.toml
	@$(LOCK) $(UPGRADE) -c requirements/fleet.txt --extra storage -o requirements/storage.txt \
	  pyproject.toml

# Sandboxes that were left up on purpose have their data in .cache.
clean:
	@if [ -x $(BIN)/python ] && [ -d .cache/sandboxes ]; then \
	  $(BIN)/python -c 'from poolkeeper import sandbox; sandbox.take_down_all()'; fi
	@rm -rf .venv .cache .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis \
	  .benchmarks build dist
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
