# The front of the house: what a person types. CMake does the work; `make help` lists the targets.
SHELL := /bin/bash
.DEFAULT_GOAL := help
JOBS ?= $(shell nproc)
VENV := .venv
BUILD := build/release

export PATH := $(CURDIR)/$(VENV)/bin:$(PATH)

# Without root, scripts/setup unpacks packages here; compilers, linker and CMake then look there too.
SYSROOT := $(wildcard $(CURDIR)/$(VENV)/sysroot)
ifneq ($(SYSROOT),)
MULTIARCH := $(shell $(CC) -print-multiarch)
export PATH := $(PATH):$(SYSROOT)/usr/bin
export CPATH := $(SYSROOT)/usr/include:$(SYSROOT)/usr/include/$(MULTIARCH):$(CPATH)
export LIBRARY_PATH := $(SYSROOT)/usr/lib/$(MULTIARCH):$(SYSROOT)/lib/$(MULTIARCH):$(LIBRARY_PATH)
export LD_LIBRARY_PATH := $(SYSROOT)/usr/lib/$(MULTIARCH):$(SYSROOT)/lib/$(MULTIARCH):$(LD_LIBRARY_PATH)
export CMAKE_PREFIX_PATH := $(SYSROOT)/usr
export PKG_CONFIG_PATH := $(SYSROOT)/usr/lib/$(MULTIARCH)/pkgconfig:$(SYSROOT)/usr/share/pkgconfig
PYTHON_HEADERS := $(firstword $(wildcard $(SYSROOT)/usr/include/python3.*))
CONFIGURE_FLAGS := $(if $(PYTHON_HEADERS),-DPython_INCLUDE_DIR=$(PYTHON_HEADERS))
endif

# CI=1: warnings are errors.
CONFIGURE_FLAGS += $(if $(CI),-DTERRACE_WERROR=ON)

.PHONY: help
help:
	@echo 'make demo      set up, build, measure two gains; writes out/demo/report.html'
	@echo 'make test      set up, build, run the tests'
	@echo 'make soak      long tests: all tests in virtual machines, random tests in large numbers (hours)'
	@echo 'make build     set up, build, install into $(VENV)'
	@echo 'make bench     benchmarks, one after the other; JSON in out/bench'
	@echo 'make acceptance  measure all acceptance criteria; resumes where it stopped'
	@echo 'make results   acceptance and studies on one commit, and docs/results from them; ARGS=--quick: README only'
	@echo 'make sanitize  unit tests under the address, undefined-behaviour and thread sanitizers'
	@echo 'make coverage  line coverage of the unit tests; out/coverage/index.html'
	@echo 'make lint      formatters, clang-tidy, ruff, mypy; changes nothing'
	@echo 'make format    clang-format and ruff, in place'
	@echo 'make docs      the documentation as a site, in site/'
	@echo 'make clean     removes what was built, keeps $(VENV)'

# --- build -----------------------------------------------------------------------------------------------------------

.PHONY: setup build configure
setup:
	@scripts/setup

# Again where the folder was configured for the demo alone.
configure: setup
	@grep -qs '^TERRACE_TESTS:BOOL=ON' $(BUILD)/CMakeCache.txt && test -f $(BUILD)/build.ninja || \
	  cmake --preset release $(CONFIGURE_FLAGS)

build: configure
	@cmake --build --preset release -j $(JOBS)
	@cmake --install $(BUILD) --prefix $(VENV) > $(BUILD)/install.log || { cat $(BUILD)/install.log; exit 1; }

# --- run -------------------------------------------------------------------------------------------------------------

.PHONY: demo demo-build test soak benchmarks bench acceptance results sanitize coverage
# Sets up and builds only what the demo needs; `make build` adds the rest.
demo-build:
	@scripts/setup demo
	@test -f $(BUILD)/build.ninja || cmake --preset release $(CONFIGURE_FLAGS) \
	  -DTERRACE_TESTS=OFF -DTERRACE_BENCH=OFF -DTERRACE_WORKLOADS=OFF \
	  -DTERRACE_STENCIL=OFF -DTERRACE_PIM=OFF -DTERRACE_GPU_SIM=OFF
	@cmake --build --preset release -j $(JOBS) --target demo_parts
	@cmake --install $(BUILD) --prefix $(VENV) > $(BUILD)/install.log || { cat $(BUILD)/install.log; exit 1; }

demo: demo-build
	@$(VENV)/bin/terrace lab demo

test: build
	@$(VENV)/bin/python scripts/run_tests.py --build $(BUILD) --jobs $(JOBS)

soak: build
	@cmake --build --preset release -j $(JOBS) --target soak_programs
	@$(VENV)/bin/python scripts/run_tests.py --build $(BUILD) --jobs $(JOBS) --soak

benchmarks: build
	@cmake --build --preset release -j $(JOBS) --target benchmarks

bench: benchmarks
	@scripts/bench $(BUILD) out/bench

acceptance: benchmarks
	@scripts/acceptance

results: $(if $(findstring --quick,$(ARGS)),demo-build,benchmarks)
	@scripts/results $(ARGS)

sanitize: setup
	@for kind in asan ubsan tsan; do \
	  scripts/sanitize $$kind $(JOBS) || exit 1; \
	done

coverage: setup
	@cmake --preset coverage > /dev/null && cmake --build --preset coverage -j $(JOBS)
	@ctest --preset coverage -j $(JOBS) --quiet
	@mkdir -p out/coverage
	@gcovr --root . --filter src/ build/coverage --html-details out/coverage/index.html --print-summary

# --- keep ------------------------------------------------------------------------------------------------------------

.PHONY: lint format docs clean
lint: benchmarks
	@scripts/lint

format: setup
	@scripts/format

docs: build
	@scripts/setup docs
	@$(VENV)/bin/python scripts/command_line_page.py
	@$(VENV)/bin/python scripts/workload_tables.py
	@NO_MKDOCS_2_WARNING=1 $(VENV)/bin/mkdocs build --strict
	@echo 'site/index.html'

clean:
	rm -rf build out site
