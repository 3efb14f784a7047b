"""Minimise a function of 5001 variables: a classifier's weights, by its ramp loss.

    python examples/ramp_loss_5000.py                        # data made here, about a minute
    python examples/ramp_loss_5000.py --data gisette-like    # a stand-in for Gisette, from MNIST

Needs the extra data. With ``Optimizer`` you keep the loop: ask for a point, evaluate it wherever
you like, tell its value. Replace ``problem`` by your own function of a vector. This one is a
stand-in for functions that give nothing but values: where there are gradients, as there nearly
are here, use them; the support vector machine at the end shows how much they are worth.
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
svm = problem.references["linear-svm"](0)

opt = transect.Optimizer(bounds=[(-1, 1)] * 5001, seed=0, max_evals=arguments.evals)
opt.tell(np.zeros(5001), problem(np.zeros(5001)))  # what is known already: all weights 0
evaluating = 0.0
while len(opt.trials) < arguments.evals:
    trial = opt.ask()
    start = time.perf_counter()
    value = problem(trial.x)
    evaluating += time.perf_counter() - start
    opt.tell(trial, value)
    if len(opt.trials) % 50 == 0:
        print(f"{len(opt.trials):4d} evaluations, best loss {opt.best.value:.1f}")

suggested = [t.info["seconds"] for t in opt.trials if t.info["source"] == "strategy"]
print(f"a suggestion took {1e3 * np.mean(suggested):.0f} ms on average,", end=" ")
print(f"an evaluation {1e3 * evaluating / arguments.evals:.1f} ms")
print(f"all weights 0: {opt.trials[0].value:.1f}; best found: {opt.best.value:.1f};", end=" ")
print(f"a linear SVM, which uses gradients: {svm:.1f}")
