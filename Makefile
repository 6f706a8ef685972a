# Two commands do everything: `make demo` and `make test`. Both set up what is missing first.

VENV   := .venv
BIN    := $(VENV)/bin
# The first interpreter that runs and is new enough, but not newer than the wheels we depend on.
PYTHON ?= $(shell for p in python3 python3.12 python3.11; do \
	$$p -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 12))' 2>/dev/null \
	&& { echo $$p; break; }; done)

# What `make demo` is given: DEMO="--full", DEMO="--scenes my-photos"
DEMO ?=

SNAP_URL    ?= https://github.com/ykotseruba/SNAP
SNAP_COMMIT := 6ffedd4

.PHONY: help demo test soak lint docs data clean system-test

help:
	@echo "make demo   the whole chain once in a virtual dark room (DEMO=\"--full\" for all 630 triplets)"
	@echo "make test   set up, lint, type-check and test"
	@echo "make soak   the long tests: full sweeps, kills at every step"
	@echo "make data   fetch the public SNAP release for the tests that use it"

demo: $(VENV)/.demo
	$(BIN)/snaprig demo $(DEMO)

test: $(VENV)/.test system-test lint
	$(BIN)/pytest -n 2 --dist loadfile -m "not soak"

soak: $(VENV)/.test system-test
	$(BIN)/pytest -m soak --timeout 3600

lint: $(VENV)/.test
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

$(VENV)/.demo: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(BIN)/pip install --constraint constraints.txt --editable '.[evaluate,demo]'
	@touch $@

$(VENV)/.test: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(BIN)/pip install --constraint constraints.txt --editable '.[evaluate,experiment,export,cluster,demo,dev]'
	@touch $@ $(VENV)/.demo

$(VENV)/bin/python:
	@test -n "$(PYTHON)" || { echo "Python 3.11 or 3.12 is needed: apt install python3 python3-venv"; exit 1; }
	@$(PYTHON) -c 'import ensurepip' 2>/dev/null || .ci/need python3-venv
	$(PYTHON) -m venv $(VENV)

# gphoto2: the independent peer of the virtual camera. Xvfb, OpenGL, fonts and sound libraries: what
# PsychoPy needs to open a window without a screen. chromium: the dashboard's tests.
system-test:
	@.ci/need gphoto2 chromium xvfb xauth libgl1 libgl1-mesa-dri libglx-mesa0 libglu1-mesa \
	  fontconfig fonts-dejavu-core libasound2 libjack-jackd2-0

# The public release, pinned and verified, where the tests look for it: SNAPRIG_DATA=data make test
data: data/snap/.verified

data/snap/.verified: tests/snap-release.sha256
	@test -d data/snap/.git || git clone --filter=blob:none --no-checkout --progress $(SNAP_URL) data/snap
	git -C data/snap checkout --progress $(SNAP_COMMIT)
	cd data/snap && sha256sum --check --quiet --strict ../../tests/snap-release.sha256
	@touch $@
	@echo "verified; now: SNAPRIG_DATA=$(CURDIR)/data make test"

# docs/commands.md from the commands themselves (a test compares them).
docs: $(VENV)/.test
	$(BIN)/python -m docs.make_commands

clean:
	rm -rf $(VENV) build *.egg-info .mypy_cache .ruff_cache .pytest_cache .import_linter_cache
