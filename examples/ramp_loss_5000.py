"""Fit a classifier of 5000 weights whose loss has no useful gradient.

    python examples/ramp_loss_5000.py                        # data made here, under a minute
    python examples/ramp_loss_5000.py --data gisette-like    # a stand-in for Gisette, from MNIST

The ramp loss counts what is badly wrong as 1, however wrong it is, so outliers do no harm; it
is not convex. With ``Optimizer`` you keep the loop: ask for a point, evaluate it wherever
you like, tell its value. Replace ``problem`` by your own function of a vector.
"""

import argparse
import time

import numpy as np
import scipy.sparse

import transect
from transect import problems

parser = argparse.ArgumentParser()
parser.add_argument("--data", help="gisette-like or gisette; by default examples made here")
parser.add_argument("--evals", type=int, default=300)
arguments = parser.parse_args()


def examples(rng: np.random.Generator) -> tuple[scipy.sparse.csr_array, np.ndarray]:
    """2000 sparse examples of two classes, a tenth of them with the wrong label."""
    X = scipy.sparse.random_array((2000, 5000), density=0.1, rng=rng, format="csr")
    score = X @ rng.standard_normal(5000)
    y = np.where(score > np.median(score), 1.0, -1.0)
    return X, np.where(rng.random(2000) < 0.1, -y, y)


data = arguments.data or examples(np.random.default_rng(0))
problem = problems.ramp(5001, data=data, C=1.0)  # 5000 weights and a bias, each in [-1, 1]

opt = transect.Optimizer(bounds=[(-1, 1)] * 5001, seed=0, max_evals=arguments.evals)
opt.tell(np.zeros(5001), problem(np.zeros(5001)))  # what is known already: all weights 0
suggesting = evaluating = 0.0
while len(opt.trials) < arguments.evals:
    start = time.perf_counter()
    trial = opt.ask()
    asked = time.perf_counter()
    value = problem(trial.x)
    evaluating += time.perf_counter() - asked
    opt.tell(trial, value)
    suggesting += time.perf_counter() - start
    if len(opt.trials) % 50 == 0:
        print(f"{len(opt.trials):4d} evaluations, best loss {opt.best.value:.1f}")

suggesting -= evaluating
print(f"a suggestion took {1e3 * suggesting / arguments.evals:.1f} ms on average,", end=" ")
print(f"an evaluation {1e3 * evaluating / arguments.evals:.1f} ms")
print(f"all weights 0: {opt.trials[0].value:.1f}; best found: {opt.best.value:.1f};", end=" ")
print(f"a linear SVM, which uses gradients: {problem.references['linear-svm'](0):.1f}")
