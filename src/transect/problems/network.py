"""The network task: output weights by optimisation, everything else by Adam (Oh et al. 2018).

A network of h hidden units classifies images of digits. u in [-1, 1]^(10·h) is W2 (10, h), row
by row, which stays as it is while Adam trains W1, b1 and b2. The value is the mean negative
log-likelihood of images held back. Every evaluation starts from new weights and takes
the images in a new order, so values are noisy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from .._array import Host, to_device
from .._checks import whole_number
from .._threads import quiet_blas
from ..box import Box
from . import datasets
from .datasets import Images
from .problem import Draw, Problem
from .training import CLASSES, Examples, Networks, Single

NETWORK_STREAM = 4  # keeps these draws apart from others of the same seed


@dataclass(frozen=True)
class Plan:
    """What is learnt from: the first ``train`` images; judged on the ``valid`` ones after them."""

    images: Callable[[str | Path | None], Images]
    train: int
    valid: int
    mean: float  # of a pixel between 0 and 1
    deviation: float
    epochs: int

    def inputs(self, images: Images) -> Single:
        """Pixels (train + valid, p) as the network gets them."""
        scale = np.float32(1.0 / (images.levels * self.deviation))
        shift = np.float32(self.mean / self.deviation)
        return images.pixels[: self.train + self.valid] * scale - shift


def _digits(folder: str | Path | None) -> Images:
    return datasets.digits()  # which come with scikit-learn, whatever the folder


PLANS = {
    "mnist": Plan(datasets.mnist, 45_000, 5_000, 0.1307, 0.3081, epochs=20),
    "digits": Plan(_digits, 1_297, 500, 0.3053, 0.3760, epochs=40),
}


class NetworkLoss:
    """The value of W2: how well the network classifies after Adam's part.

    The i-th call of a copy draws from (seed, i); ``together`` takes these pairs as arguments,
    so that values do not depend, but for rounding, on what they were computed together with.
    """

    def __init__(self, images: Images, plan: Plan, h: int, seed: int, device: Any) -> None:
        self.images, self.plan, self.h, self.seed, self.device = images, plan, h, seed, device
        self.calls = 0

    def __call__(self, u: Host) -> float:
        return float(self.together(u[None, :], [self.draw()])[0])

    def draw(self) -> Draw:
        """What the next call draws from."""
        self.calls += 1
        return self.seed, self.calls

    def together(self, points: Host, draws: Sequence[Draw]) -> Host:
        """Values (B,) of points (B, 10·h), trained side by side."""
        W2 = points.reshape(-1, CLASSES, self.h).astype(np.float32)
        return self._trained(W2, draws)

    def all_adam(self, seed: int) -> float:
        """The loss of a network whose output weights are trained, too."""
        return float(self._trained(None, [(seed, 0)])[0])

    def _trained(self, W2: Single | None, draws: Sequence[Draw]) -> Host:
        learn, judge = self._examples
        frozen, B = W2 is not None, len(draws)
        networks = self.__dict__.pop("_networks", None)  # taken, so that threads do not share it
        if networks is None or (networks.B, networks.frozen) != (B, frozen):
            networks = Networks(learn, B, self.h, frozen)
        rngs = [np.random.default_rng([*draw, NETWORK_STREAM]) for draw in draws]
        with quiet_blas():  # the products are small, and their threads would only spin
            networks.train(rngs, self.plan.epochs, W2)
            losses: Host = networks.losses(judge)
        self._networks = networks
        return losses

    @cached_property
    def _examples(self) -> tuple[Examples, Examples]:
        plan = self.plan
        A = plan.inputs(self.images)
        labels = self.images.labels[: len(A)]
        return (
            Examples.of(A[: plan.train], labels[: plan.train], self.device),
            Examples.of(A[plan.train :], labels[plan.train :], self.device),
        )

    def __getstate__(self) -> dict[str, Any]:
        """Without what the first evaluation makes again."""
        made = ("_examples", "_networks")
        return {name: value for name, value in self.__dict__.items() if name not in made}


def network(
    D: int = 500,
    *,
    data: str = "mnist",
    folder: str | Path | None = None,
    noise_seed: int = 0,
    device: Any = None,
) -> Problem:
    """The network task with D = 10·h output weights, on images of "mnist" or "digits".

    ``device``: a torch device, such as "cuda"; None computes with NumPy, which takes a few
    seconds an evaluation on MNIST, and a tenth of one on digits. ``references["all-adam"](seed)``
    is the loss of a network all of whose weights Adam trains. ``problem.noiseless`` is noisy,
    too: there is no value without a training. Copies that work side by side need a
    ``noise_seed`` each, given here.
    """
    if whole_number("D", D, CLASSES) % CLASSES:
        raise ValueError(f"D must be {CLASSES} output weights for each hidden unit, got {D}")
    if not isinstance(data, str) or data not in PLANS:
        raise ValueError(f"data must be one of {', '.join(PLANS)}, got {data!r}")
    whole_number("noise_seed", noise_seed, 0)
    to_device(np.zeros(0), device)  # no torch, or no such device: said now
    plan = PLANS[data]
    loss = NetworkLoss(plan.images(folder), plan, D // CLASSES, noise_seed, device)
    box = Box.of(np.tile([-1.0, 1.0], (D, 1)))
    references = {"all-adam": loss.all_adam}
    return Problem("network", box, loss, 0.0, noise_seed=noise_seed, references=references)
