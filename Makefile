# Fanfold: everything starts here. The first target that needs it makes .venv from the pinned versions in pyproject.toml.
#
#   make sim      two 96-core nodes all-reduce through two NICs in RTL
#   make test     lint, types, unit tests, testbenches
#   make bench    the figures: beats per cycle, latencies, simulation speed, the fold on an FPGA; also build/bench.json
#   make waves    a small readable waveform, with a save file for GTKWave
#   make formal   proofs
#   make soak     the long tests: all beat widths in all tools, more random traffic, 10,000 collectives on bad links
#   make arithmetic  the fold's lane against two judges: all 2^32 pairs of 16-bit numbers, 10^8 of others; resumes
#   make fpga     size and clock on an FPGA, by open tools
#   make tradeoff  the fold's latency against its clock and size: the table in docs/fold.md; half an hour
#   make clean    remove what was built; the environment stays (`make distclean` removes it too)

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin

FANFOLD := $(BIN)/fanfold
PYTEST  := $(BIN)/python -m pytest

.DEFAULT_GOAL := help
.PHONY: help sim test lint bench waves formal soak arithmetic fpga tradeoff clean distclean

help:
	@sed -n '2,/^$$/s/^# \{0,1\}//p' $(firstword $(MAKEFILE_LIST))

# ---- environments: a stamp for each set of pinned extras ----

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || \
	  { echo "Fanfold needs Python 3.11 or newer; '$(PYTHON)' is $$($(PYTHON) --version 2>&1). Name another: make PYTHON=python3.12" >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV) || \
	  { rm -rf $(VENV); echo "'$(PYTHON) -m venv' failed: on Debian and Ubuntu install python3-venv" >&2; exit 1; }

$(VENV)/.installed-%: pyproject.toml | $(VENV)/bin/python
	@echo "Installing the pinned packages ($*) into $(VENV) ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-input --editable '.[$*]'
	@touch $@

TESTING := $(VENV)/.installed-test

# ---- what the project does ----

sim: $(TESTING)
	@mkdir -p build
	@$(FANFOLD) simulate --topology kunpeng920-96 --nodes 2 --group-by numa \
	  --collective allreduce --op sum --type float32 --bytes 1024 \
	  --background synthetic:200 --simulator auto --json build/sim.json

test: lint $(TESTING)
	@command -v iverilog >/dev/null || echo "No Icarus Verilog here: the testbenches run on Verilator only."
	@$(PYTEST) -q -m "not long" -n 2 --dist loadfile

lint: $(TESTING)
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy

bench: $(TESTING) $(VENV)/.installed-fpga
	@$(FANFOLD) bench

waves: $(TESTING)
	@$(FANFOLD) waves

formal: $(TESTING) $(VENV)/.installed-formal
	@$(PYTEST) -q tests/formal

soak: $(TESTING)
	@$(PYTEST) -q -m long

arithmetic: $(TESTING)
	@$(BIN)/python tests/arithmetic/exhaust.py $(PARTS)

fpga: $(TESTING) $(VENV)/.installed-fpga
	@$(FANFOLD) fpga

tradeoff: $(TESTING) $(VENV)/.installed-fpga
	@$(FANFOLD) tradeoff $(PARTS)

clean:
	rm -rf build tb/sim_build .pytest_cache .mypy_cache .ruff_cache

distclean: clean
	rm -rf $(VENV)
