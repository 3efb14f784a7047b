"""Tune the 500 output weights of a network that classifies digits.

    python examples/network_weights.py                 # scikit-learn's digits, a minute
    python examples/network_weights.py --data mnist    # MNIST; with torch also --device cuda

The rest of the network is trained afresh, by Adam, for every set of output weights: an expensive
and noisy objective of 500 variables. Replace ``problem`` by any function that takes
a vector and returns a number, and the bounds by its own.
"""

import argparse

import numpy as np

import transect
from transect import plots, problems

parser = argparse.ArgumentParser()
parser.add_argument("--data", default="digits", choices=["digits", "mnist"])
parser.add_argument("--evals", type=int, default=150)
parser.add_argument("--device", help="a torch device, such as cuda")
parser.add_argument("--out", default="network_weights.png")
arguments = parser.parse_args()

problem = problems.network(500, data=arguments.data, device=arguments.device)

# Points that are known to be sensible can be told first; here the middle of the box, where
# all output weights are 0.
middle = np.zeros(500)

settings = {"bounds": [(-1, 1)] * 500, "max_evals": arguments.evals, "x0": [middle], "seed": 0}
runs = {
    "transect": transect.minimize(problem, **settings),
    "random search": transect.minimize(problem, strategy="random", **settings),
}
for name, result in runs.items():
    print(f"{name}: validation loss {result.fun:.4f} after {result.nfev} evaluations")

# One training is luck, too: judge what was found by a few more.
best = runs["transect"].x
print(f"the best weights, five times more: {np.mean([problem(best) for _ in range(5)]):.4f}")
print(f"all weights by Adam, for comparison: {problem.references['all-adam'](0):.4f}")

title = f"500 output weights on {arguments.data}"
print("picture:", plots.convergence(runs, arguments.out, title=title, initial=20))
