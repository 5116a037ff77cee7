# make book | test | lab | figures | handout | notebooks | bench | clean.  PYTHON=python3.12 make book  uses another Python.
# Without make, the first two lines of README's "Without make" do the same as `make book`.

PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready

.PHONY: book test lab figures handout notebooks bench clean setup
.DELETE_ON_ERROR:

book: $(READY)
	@$(BIN)/python tools/build.py

test: book
	@$(BIN)/python tools/check.py

lab: $(READY)
	@$(BIN)/jupyter lab --notebook-dir=. notebooks

figures: $(READY)
	@$(BIN)/python tools/export_figures.py _build/figures

handout: $(READY)
	@$(BIN)/python tools/handout.py _build/handout

notebooks: $(READY)
	@$(BIN)/python tools/notebooks.py

# The peers get a Python of their own: what they need must not change what the book is built with.
bench: .venv-bench/.ready
	@for part in accountants samplers page; do OMP_NUM_THREADS=1 .venv-bench/bin/python benchmarks/$$part.py || exit 1; done

.venv-bench/.ready: pyproject.toml
	@test -x .venv-bench/bin/python || $(PYTHON) -m venv .venv-bench
	@.venv-bench/bin/python -m pip install --quiet --disable-pip-version-check -e '.[bench]'
	@touch $@

setup: $(READY)

# Installs again only when one of these files has changed.
$(READY): requirements.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "This needs Python 3.11 or newer; name one, as in: make PYTHON=python3.12 book"; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' || \
	  { echo "This Python cannot make virtual environments. On Debian and Ubuntu: apt install python3-venv"; exit 1; }
	@test -x $(BIN)/python || { echo "making .venv"; $(PYTHON) -m venv .venv; }
	@echo "installing requirements.txt into .venv (about a minute the first time)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.txt -e .
	@touch $@

clean:
	rm -rf _build
