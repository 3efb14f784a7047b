"""Tune the 100 output weights of a network that classifies digits.

    python examples/network_weights.py                 # scikit-learn's digits, half a minute
    python examples/network_weights.py --data mnist    # MNIST; with torch also --device cuda

Needs the extras data and plot. The rest of the network is trained afresh, by Adam, for every set
of output weights: an expensive objective of 100 variables, and a noisy one. Replace
``problem`` by any function that takes a vector and returns a number, and the bounds by its own.
With --weights 500, as in the paper's other network, 150 evaluations are too few to find out more of
it than random search does.
"""

import argparse
from pathlib import Path

import numpy as np

import transect
from transect import plots, problems

parser = argparse.ArgumentParser()
parser.add_argument("--data", default="digits", choices=["digits", "mnist"])
parser.add_argument("--weights", type=int, default=100, help="ten for each hidden unit")
parser.add_argument("--evals", type=int, default=150)
parser.add_argument("--device", help="a torch device, such as cuda")
parser.add_argument("--out", type=Path, default=Path("network_weights.png"))
arguments = parser.parse_args()
if not arguments.out.parent.is_dir():
    parser.error(f"--out: there is no folder {arguments.out.parent}")
plots.require_matplotlib()

problem = problems.network(arguments.weights, data=arguments.data, device=arguments.device)
settings = {"bounds": [(-1, 1)] * arguments.weights, "max_evals": arguments.evals, "seed": 0}
runs = {
    "transect": transect.minimize(problem, **settings),
    "random search": transect.minimize(problem, strategy="random", **settings),
}

# The least of many noisy values is luck to a good part. What was found is judged by trainings
# of its own; so is a network all of whose weights Adam trains.
again = range(10)
for name, result in runs.items():
    fresh = np.mean([problem(result.x) for _ in again])
    print(f"{name}: least loss {result.fun:.4f}; the same weights trained afresh {fresh:.4f}")
adam = np.mean([problem.references["all-adam"](seed) for seed in again])
print(f"all weights by Adam: {adam:.4f}")

title = f"Validation loss, {arguments.weights} output weights on {arguments.data}"
print("picture:", plots.convergence(runs, arguments.out, title=title, initial=5))
