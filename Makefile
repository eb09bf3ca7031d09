# Every verb works from an empty clone. .venv is built on first use: `run` installs less than the other
# verbs, which add the missing packages.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Seconds for each of the two parts of `make fuzz`.
FUZZ_SECONDS ?= 300
# Each process has stores of its own. Three keep two cores busy: tests wait a third of their time.
PYTEST := $(BIN)/python -m pytest -n 3 --dist worksteal $(if $(SEED),--randomly-seed=$(SEED))
# What `make test` leaves to `make test-all`: processes by the dozen, pages in every variant, generated
# clients, pasted documents.
LONG := tests/lab tests/system tests/clients tests/ops tests/scripts tests/test_documents.py \
	tests/test_document_blocks.py tests/stores/builtin tests/stores/startup tests/stores/redis/test_cluster.py \
	tests/stores/redis/test_sentinels.py tests/journal/test_cluster.py \
	$(patsubst %,tests/console/test_%.py,accessibility errors figures frame live long_report many_links \
		odd_reports report_dialogs second_factor settings shared_report sharing start unfinished_periods utm) \
	$(patsubst %,tests/reports/%.py,test_cost answers/test_cut_reports \
		joint_counts/test_tables joint_counts/test_unfinished_day) \
	$(patsubst %,tests/ingest/test_%.py,consumer_outage drain_number joint_counting partition_readers \
		time_zone_change) \
	tests/links/lists/test_link_lists.py tests/webhooks/sending/test_slow_receivers.py
# What speaks to Redis itself. A trial brings the newest one, so it runs there alone.
TRIAL := tests/system/test_trial.py
ON_NEWEST := tests/stores/redis tests/journal tests/access/test_rate_limit.py tests/clicks/test_visitors.py \
	tests/ingest/test_consumer.py $(TRIAL)
.DEFAULT_GOAL := help
.PHONY: run demo test test-all test-lab steady fuzz lint bench growth chaos abuse soak screenshots lock check help

PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check

$(VENV)/trial: requirements.txt requirements-trial.txt
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "Python 3.11 or later is needed; this is " + sys.version.split()[0] + ". Name another: make PYTHON=/path/to/python3.11 ...")'
	@echo "installing the service and its stores into $(VENV) (once, about 15 seconds)"
	@$(PYTHON) -m venv $(VENV)
	@$(PIP) -r requirements-trial.txt
	@touch $@

$(VENV)/ready: $(VENV)/trial requirements-dev.txt
	@echo "adding the packages of tests and checks to $(VENV) (once, about 40 seconds)"
	@$(PIP) -r requirements-dev.txt
	@touch $@

$(VENV)/browser: $(VENV)/ready tests/console/chromium.py
	@$(BIN)/python -m tests.console.chromium
	@touch $@

$(VENV)/npm-packages: $(VENV)/ready lab/npm.py tests/clients/typescript/package-lock.json
	@$(BIN)/python -m lab.npm
	@touch $@

run: $(VENV)/trial  ## start the service on its built-in stores and print how to try it
	@exec $(BIN)/python run.py

demo: $(VENV)/trial  ## start the service with two months of traffic in an account, to look at (keeps nothing)
	@exec $(BIN)/python -m lab.demo $(if $(PORT),--port $(PORT)) $(ARGS)

# On the oldest supported Redis.
test: $(VENV)/browser $(VENV)/npm-packages  ## run the tests of a commit, on real stores that they start themselves (seven minutes)
	@$(PYTEST) --redis lowest $(if $(ARGS),$(ARGS),$(LONG:%=--ignore=%))

# Then on the newest what may differ there.
test-all: $(VENV)/browser $(VENV)/npm-packages  ## run all tests, as CI does (twelve minutes)
	@$(PYTEST) --redis lowest --ignore=tests/lab --ignore=$(TRIAL)
	@$(PYTEST) $(ON_NEWEST) tests/lab

test-lab: $(VENV)/ready  ## run the tests of bench, growth, chaos, abuse and the other proofs (four minutes)
	@$(PYTEST) tests/lab $(ARGS)

steady: $(VENV)/browser $(VENV)/npm-packages  ## run all tests five times, each in another order, beside a load: what is unsteady?
	@$(BIN)/python -m lab.steady -- make $(if $(ARGS),test 'ARGS=$(ARGS)',test-all)

fuzz: $(VENV)/ready  ## send generated requests to the service, then random bytes to its parser (ten minutes)
	@$(BIN)/python -m tests.system.fuzz --max-time $(FUZZ_SECONDS)
	@$(BIN)/python -m tests.http.fuzz -max_total_time=$(FUZZ_SECONDS) -timeout=10 -artifact_prefix=fuzz-

lint: $(VENV)/ready  ## run ruff (lint and format) and mypy (strict), then eslint and prettier
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/python -m lab.javascript

bench: $(VENV)/ready  ## measure clicks and events beside a bare Tornado redirect and nginx (twenty minutes)
	@$(BIN)/python -m lab.bench $(ARGS)

growth: $(VENV)/ready  ## measure whether cost grows with what there is, and say which bounds do not hold (a quarter of an hour)
	@$(BIN)/python -m lab.growth $(ARGS)

chaos: $(VENV)/ready  ## kill and suspend the service and its stores under load; is anything lost? (three minutes)
	@$(BIN)/python -m lab.chaos $(ARGS)

abuse: $(VENV)/ready  ## attack the service as strangers and accounts would; do visitors notice? (seven minutes)
	@$(BIN)/python -m lab.abuse $(ARGS)

soak: $(VENV)/ready  ## run clicks and events for twenty minutes; does anything grow, fail or get lost?
	@$(BIN)/python -m lab.abuse --rows none --seconds 300 $(ARGS)

screenshots: $(VENV)/browser  ## take the pictures of the console that the documents show (half a minute)
	@$(BIN)/python -m tests.console.screenshots $(ARGS)

lock: $(VENV)/trial  ## write requirements*.txt, with hashes, from requirements*.in (ARGS=--upgrade for newer versions)
	@$(PIP) uv==0.13.9
	@for one in requirements requirements-trial requirements-dev; do \
		$(BIN)/uv pip compile --quiet --no-config --universal --generate-hashes --python-version 3.11 \
			--no-annotate --custom-compile-command 'make lock' $(ARGS) -o $$one.txt $$one.in || exit 1; done

check: lint test  ## run lint and the tests of a commit

help:  ## list the verbs
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
