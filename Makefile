# Every target sets up what it needs. Two environments: .venv for the library and its tests,
# .venv-torch for what is compared with torch and BoTorch.
PYTHON ?= python3
CORE := .venv/.ready
TORCH := .venv-torch/.ready
PIP := -m pip install --quiet --disable-pip-version-check --constraint constraints.txt

.PHONY: demo test test-long test-torch lint bench-engine bench-suggestions bench-learning bench-limits \
	bench-planner bench-journal bench-failures bench-long bench-compare bench-ablation format clean

demo: $(CORE)  ## minimise a 100-dimensional problem and draw the run
	.venv/bin/transect demo --out demo.png

test: $(CORE)  ## all tests that need no torch
	.venv/bin/python -m pytest -n auto -m "not torch and not long"

test-long: $(CORE)  ## the same tests of faults as in test, for longer
	.venv/bin/python -m pytest -n auto -m long

test-torch: $(TORCH)  ## tests against torch, GPyTorch and BoTorch
	.venv-torch/bin/python -m pytest -m torch tests/test_torch.py tests/test_every_strategy.py \
		tests/test_comparison.py

lint: $(CORE)  ## style, types, and which module may import which
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/mypy
	.venv/bin/python tests/test_architecture.py

bench-engine: $(TORCH)  ## speed beside BoTorch; prints one JSON object
	@.venv-torch/bin/python benchmarks/engine.py

bench-suggestions: $(TORCH)  ## time of a suggestion beside BoTorch, Optuna and pycma; prints a table
	@.venv-torch/bin/python benchmarks/suggestions.py

bench-learning: $(TORCH)  ## the learning tasks and MS-UCB in 5001 dimensions; prints one JSON object
	@.venv-torch/bin/python benchmarks/learning.py

bench-limits: $(CORE)  ## whether suggestions keep to a time limit, and what it costs; prints tables
	@.venv/bin/python benchmarks/time_limits.py

bench-planner: $(CORE)  ## the planner's predictions beside whole runs; prints a table
	@.venv/bin/python benchmarks/planner.py

bench-journal: $(CORE)  ## what keeping a run on disk costs; prints a table
	@.venv/bin/python benchmarks/journal.py

bench-failures: $(CORE)  ## runs where a third of the box fails; prints a table
	@.venv/bin/python benchmarks/failures.py

bench-long: $(CORE)  ## time and memory of 2000 evaluations of 1000 variables; prints a table
	@.venv/bin/python benchmarks/long_run.py

bench-compare: $(TORCH)  ## quality beside BoTorch, TuRBO, Optuna and pycma; carries on, prints tables
	@.venv-torch/bin/python benchmarks/compare.py

bench-ablation: $(CORE)  ## what every part of the default strategy is worth; carries on, prints a table
	@.venv/bin/python benchmarks/ablation.py

format: $(CORE)
	.venv/bin/ruff check --fix .
	.venv/bin/ruff format .

clean:
	rm -rf .venv .venv-torch demo.png

$(CORE): pyproject.toml constraints.txt
	@echo "setting up .venv" >&2
	@$(PYTHON) -m venv .venv
	@.venv/bin/python $(PIP) --upgrade pip
	@.venv/bin/python $(PIP) --editable '.[plot]' --group dev
	@touch $@

# torch first and alone: 2.13.0 is the build without CUDA where one is at hand
$(TORCH): pyproject.toml constraints.txt benchmarks/requirements.txt
	@echo "setting up .venv-torch" >&2
	@$(PYTHON) -m venv .venv-torch
	@.venv-torch/bin/python $(PIP) --upgrade pip
	@.venv-torch/bin/python $(PIP) torch==2.13.0
	@.venv-torch/bin/python $(PIP) --editable '.[torch]' --requirement benchmarks/requirements.txt
	@touch $@
