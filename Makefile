# SPDX-License-Identifier: Apache-2.0
# Short names for the few things one does with a clone; all real work is CMake's and devtools/'s.
# Every target first runs devtools/setup, which installs what is missing and, the second time, does nothing.

BUILD ?= build
BUILD_TYPE ?= Release
PREFIX ?= /usr/local
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
CMAKE_ARGS ?=
CTEST_ARGS ?=

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
# The tools that set-up installed come first on the PATH.
ENV = source "$$(devtools/setup --print-env)" &&

.DEFAULT_GOAL := build
.PHONY: help setup setup-dev configure build program test demo bench install check fix fuzz clean

help:  ## this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 20
	@echo "variables: BUILD=$(BUILD) BUILD_TYPE=$(BUILD_TYPE) PREFIX=$(PREFIX) JOBS=$(JOBS) CMAKE_ARGS CTEST_ARGS"

setup:
	@devtools/setup

setup-dev:
	@devtools/setup --dev

configure: setup
	@if [ ! -e $(BUILD)/CMakeCache.txt ] || [ "$$(devtools/setup --print-toolchain)" -nt $(BUILD)/CMakeCache.txt ] \
	    || [ -n "$(strip $(CMAKE_ARGS))" ]; then $(ENV) \
	  cmake -C "$$(devtools/setup --print-toolchain)" -S . -B $(BUILD) $$(command -v ninja > /dev/null && echo -G Ninja) \
	    -DCMAKE_BUILD_TYPE=$(BUILD_TYPE) $(CMAKE_ARGS); fi

build: configure  ## compile everything into $(BUILD)/ (the default)
	@$(ENV) cmake --build $(BUILD) --parallel $(JOBS)

program: configure  ## the command alone, without the tests
	@$(ENV) cmake --build $(BUILD) --parallel $(JOBS) --target stratalog

test: build  ## all tests: CTest (unit, property, fault, mpi, system) and pytest
	@$(ENV) ctest --test-dir $(BUILD) --output-on-failure --no-tests=error --parallel $(JOBS) $(CTEST_ARGS)
	@$(ENV) STRATALOG_BUILD="$(abspath $(BUILD))" python -m pytest -q $(wildcard tests/devtools tests/python)

demo: program  ## a real program on two ranks, killed half-way and resumed on another number of ranks
	@$(ENV) STRATALOG_BUILD="$(abspath $(BUILD))" examples/demo/run

bench: program  ## measurements, each with its answer checked
	@$(ENV) STRATALOG_BUILD="$(abspath $(BUILD))" bench/run

install: program  ## the command and the library, into PREFIX (DESTDIR is obeyed)
	@$(ENV) cmake --build $(BUILD) --parallel $(JOBS) --target stratalog_library
	@$(ENV) cmake --install $(BUILD) --prefix "$(PREFIX)"

check: setup-dev  ## formatting, lint, architecture: everything that needs no running program
	@$(ENV) devtools/check

fix: setup-dev  ## as check, and repairs what can be repaired
	@$(ENV) devtools/check --fix

fuzz: setup-dev  ## each fuzz target for a minute
	@$(ENV) devtools/fuzz

clean:  ## remove the build folders of this clone (the cached dependencies stay)
	rm -rf $(BUILD) build-*
