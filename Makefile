# Every verb works from an empty clone: .venv is built on first use, for `run` with less than for the
# others, which add to it what is missing.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# How long `make fuzz` takes for each of its two parts.
FUZZ_SECONDS ?= 300
# What `make test` tests a second time, on the oldest Redis that is supported.
SPEAK_REDIS := tests/access tests/clicks tests/db tests/ingest tests/journal tests/conversions/test_record.py
.DEFAULT_GOAL := help
.PHONY: run test fuzz lint bench bench-reports chaos abuse soak lock check help

PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check

$(VENV)/trial: requirements.txt requirements-trial.txt
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "Python 3.11 or later is needed; this is " + sys.version.split()[0] + ". Name another: make PYTHON=/path/to/python3.11 ...")'
	@echo "installing the service and its stores into $(VENV) (once, about 15 seconds)"
	@$(PYTHON) -m venv $(VENV)
	@$(PIP) -r requirements-trial.txt
	@touch $@

$(VENV)/ready: $(VENV)/trial requirements-dev.txt
	@echo "adding what tests and checks need to $(VENV) (once, about 30 seconds)"
	@$(PIP) -r requirements-dev.txt
	@touch $@

run: $(VENV)/trial  ## start the service on its built-in stores and print how to try it
	@exec $(BIN)/python run.py

test: $(VENV)/ready  ## run the whole suite against real stores that it starts itself, what speaks Redis on 6.2 too
	@$(BIN)/python -m pytest -n 2 --dist worksteal $(ARGS)
	@$(if $(ARGS),,$(BIN)/python -m pytest -n 2 --dist worksteal --redis lowest $(SPEAK_REDIS))

fuzz: $(VENV)/ready  ## throw generated requests at the service, then wild bytes at its protocol, for ten minutes
	@$(BIN)/python -m tests.system.fuzz --max-time $(FUZZ_SECONDS)
	@$(BIN)/python -m tests.http.fuzz -max_total_time=$(FUZZ_SECONDS) -timeout=10 -artifact_prefix=fuzz-

lint: $(VENV)/ready  ## ruff (lint and format) and mypy strict
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy

bench: $(VENV)/ready  ## clicks and events against a bare Tornado redirect and nginx (about six minutes)
	@$(BIN)/python -m lab.bench $(ARGS)

bench-reports: $(VENV)/ready  ## what a report costs as clicks grow, up to a million (some minutes)
	@$(BIN)/python -m lab.bench_reports $(ARGS)

chaos: $(VENV)/ready  ## kill and stop the service and its stores under load; is anything lost?
	@$(BIN)/python -m lab.chaos $(ARGS)

abuse: $(VENV)/ready  ## attack the service as strangers and accounts would; do visitors notice? (seven minutes)
	@$(BIN)/python -m lab.abuse $(ARGS)

soak: $(VENV)/ready  ## clicks and events for ten minutes; does anything grow, err or get lost?
	@$(BIN)/python -m lab.soak $(ARGS)

lock: $(VENV)/trial  ## write the lock files: requirements*.txt, with hashes, from requirements*.in (ARGS=--upgrade for newer)
	@$(PIP) uv==0.13.9
	@for one in requirements requirements-trial requirements-dev; do \
		$(BIN)/uv pip compile --quiet --no-config --universal --generate-hashes --python-version 3.11 \
			--no-annotate --custom-compile-command 'make lock' $(ARGS) -o $$one.txt $$one.in || exit 1; done

check: lint test  ## what has to be green before a commit

help:  ## list the verbs
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
