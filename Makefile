# Every verb works from an empty clone: .venv is built on first use.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# How long `make fuzz` takes for each of its two parts.
FUZZ_SECONDS ?= 300
.DEFAULT_GOAL := help
.PHONY: run test fuzz lint bench bench-reports chaos soak check help

$(VENV)/ready: requirements.txt requirements-dev.txt
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "Python 3.11 or later is needed; this is " + sys.version.split()[0] + ". Name another: make PYTHON=/path/to/python3.11 ...")'
	@echo "building $(VENV) (once, about a minute)"
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements-dev.txt
	@touch $@

run: $(VENV)/ready  ## start the service on its built-in stores and print how to try it
	@exec $(BIN)/python run.py

test: $(VENV)/ready  ## run the whole suite against real stores that it starts itself
	@$(BIN)/python -m pytest -n 2 --dist worksteal $(ARGS)

fuzz: $(VENV)/ready  ## throw generated requests at the service, then wild bytes at its protocol, for ten minutes
	@$(BIN)/python -m tests.system.fuzz --max-time $(FUZZ_SECONDS)
	@$(BIN)/python -m tests.http.fuzz -max_total_time=$(FUZZ_SECONDS) -timeout=10 -artifact_prefix=fuzz-

lint: $(VENV)/ready  ## ruff (lint and format) and mypy strict
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy

bench: $(VENV)/ready  ## clicks and events against a bare Tornado redirect and nginx (about six minutes)
	@$(BIN)/python -m scripts.bench $(ARGS)

bench-reports: $(VENV)/ready  ## what a report costs as clicks grow, up to a million (some minutes)
	@$(BIN)/python -m scripts.bench_reports $(ARGS)

chaos: $(VENV)/ready  ## kill and stop the service and its stores under load; is anything lost?
	@$(BIN)/python -m scripts.chaos $(ARGS)

soak: $(VENV)/ready  ## clicks and events for ten minutes; does anything grow, err or get lost?
	@$(BIN)/python -m scripts.soak $(ARGS)

check: lint test  ## what has to be green before a commit

help:  ## list the verbs
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
