# Each target prepares the virtual environment it needs (scripts/prepare.py) and runs one thing in it.
# Needed beforehand: Python 3.11 or newer, a C++20 compiler. Choose them with PYTHON=... and CXX=...

ROOT := $(shell dirname "$(strip $(MAKEFILE_LIST))")
PYTHON_CHOICE := $(if $(filter undefined,$(origin PYTHON)),,--this-python)
PYTHON ?= python3
ARGS ?=
# How many processes share the tests; WORKERS=0 runs them in one, where a debugger can follow.
WORKERS ?= auto
PYTEST := -m pytest -n $(WORKERS) --dist worksteal
ifneq ($(origin CXX),default)
export CXX
endif

# Generated tables are left as their scripts write them.
CXX_FILES = $(filter-out %_ranges.hpp %_decompositions.hpp,$(wildcard native/*/*.hpp native/*/*.cpp tests/native/*.cpp))

# The editable install is what runs: nothing on PYTHONPATH may stand before it.
unexport PYTHONPATH PYTHONHOME
# Packages are installed uncompiled: without bytecode, every process would compile torch and scipy again (20 s an import).
unexport PYTHONDONTWRITEBYTECODE
MAKEFLAGS += --no-print-directory
.DEFAULT_GOAL := help
.PHONY: help demo test test-core test-integrations test-native coverage lint format sanitize sanitize-threads stubs bench docs peers wheel clean

HERE := cd "$(ROOT)" &&
PREPARE := $(HERE) { command -v "$(PYTHON)" >/dev/null || { echo "Python was not found as '$(PYTHON)'. Install Python 3.11 or newer, or say where it is: make PYTHON=/path/to/python3 ..." >&2; exit 1; }; } && "$(PYTHON)" scripts/prepare.py $(PYTHON_CHOICE)

help: ## list the targets
	@$(HERE) sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1|\2/p' Makefile | awk -F'|' '{printf "%-24s %s\n", $$1, $$2}'

demo: ## search the Python that is installed on this machine
	@$(PREPARE) --extras eval
	@$(HERE) .venv/bin/vizsla demo $(ARGS)

test: ## the whole test suite with the doctests; ARGS="tests/laws -k name" chooses
	@$(PREPARE) --extras test-neural
	@$(HERE) .venv/bin/python $(PYTEST) $(ARGS)

test-core: ## the same without torch and ONNX, in an environment that has neither
	@$(PREPARE) --venv .venv-core --extras test
	@$(HERE) VIZSLA_TEST_CORE=1 .venv-core/bin/python $(PYTEST) $(ARGS)

test-integrations: ## the adapters to LangChain, LlamaIndex, Haystack and PyTerrier, with these libraries
	@$(PREPARE) --venv .venv-integrations --extras test-integrations
	@$(HERE) VIZSLA_TEST_INTEGRATIONS=1 .venv-integrations/bin/python $(PYTEST) tests/integrations src/vizsla/integrations $(ARGS)

test-native: ## C++ unit tests of native/common, under the address sanitizer
	@$(PREPARE)
	@$(HERE) .venv/bin/python scripts/native_tests.py

coverage: ## the test suite with a report of lines and branches that no test reaches; ARGS chooses as for test
	@$(PREPARE) --extras dev,test-neural
	@$(HERE) .venv/bin/python $(PYTEST) --cov --cov-report=term --cov-report=html:out/coverage $(ARGS)

lint: ## ruff, mypy (strict), the format of Python and C++, and the native core without compiler warnings
	@$(PREPARE) --extras dev
	@$(HERE) code=0; .venv/bin/ruff check --output-format concise . || code=1; .venv/bin/ruff format --check --quiet . || \
	  { echo "Some Python files are not formatted: run 'make format'." >&2; code=1; }; .venv/bin/mypy || code=1; \
	  .venv/bin/clang-format --dry-run --Werror $(CXX_FILES) || code=1; .venv/bin/python scripts/compiler_warnings.py || code=1; exit $$code

format: ## format Python with ruff and C++ with clang-format
	@$(PREPARE) --extras dev
	@$(HERE) .venv/bin/ruff check --fix --quiet . ; .venv/bin/ruff format . && .venv/bin/clang-format -i $(CXX_FILES)

sanitize: ## native code under the address and undefined-behavior sanitizers; ARGS=--quick as CI does
	@$(PREPARE) --venv .venv-sanitize --extras test --sanitize address
	@$(HERE) .venv-sanitize/bin/python scripts/sanitize.py address $(ARGS)

sanitize-threads: ## tests of native code under the thread sanitizer
	@$(PREPARE) --venv .venv-sanitize-threads --extras test --sanitize thread
	@$(HERE) .venv-sanitize-threads/bin/python scripts/sanitize.py thread $(ARGS)

stubs: ## write src/vizsla/_native.pyi anew from the built module
	@$(PREPARE) --extras test
	@$(HERE) .venv/bin/python scripts/stubs.py

bench: ## the quick form of every benchmark
	@$(PREPARE) --extras test
	@$(HERE) .venv/bin/python scripts/bench.py $(ARGS)

docs: ## the documentation as a site in out/site
	@$(PREPARE) --extras docs
	@$(HERE) NO_MKDOCS_2_WARNING=1 .venv/bin/mkdocs build --strict $(ARGS)

peers: ## install the rival libraries into environments of their own
	@$(HERE) PYTHON="$(PYTHON)" sh benchmarks/peers/setup.sh $(ARGS)

wheel: ## a wheel in dist/
	@$(PREPARE)
	@$(HERE) .venv/bin/python scripts/wheel.py dist

clean: ## remove environments, builds and caches
	@$(HERE) rm -rf .venv .venv-core .venv-integrations .venv-sanitize .venv-sanitize-threads .venv-peers build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	@$(HERE) find src tests benchmarks scripts -name __pycache__ -type d -prune -exec rm -rf {} +
