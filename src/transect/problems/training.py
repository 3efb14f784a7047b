"""Many small networks trained side by side by Adam, with NumPy or on a GPU.

A network is p inputs → h ReLU → 10 classes, log-softmax. The first axis of every array is the
network, so a step of all of them is a few matrix products. A step of one takes no longer on a
GPU than one of many: there it is made of launches, which are recorded once and replayed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._array import Array, Host, like, namespace, replayed, to_device, to_host, zeros

CLASSES = 10
BATCH = 64
LEARNING_RATE, BETA_1, BETA_2, EPSILON = 1e-3, 0.9, 0.999, 1e-8  # Adam's usual ones

Single = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Examples:
    """Inputs and their classes, as one-hot rows."""

    A: Array  # (n, p), float32
    Y: Array  # (n, 10), float32

    @staticmethod
    def of(A: Single, labels: NDArray[np.int64], device: Any) -> Examples:
        one_hot = np.eye(CLASSES, dtype=np.float32)[labels]
        return Examples(to_device(A, device), to_device(one_hot, device))

    @property
    def n(self) -> int:
        return int(self.A.shape[0])

    @property
    def p(self) -> int:
        return int(self.A.shape[1])


class Networks:
    """B networks with h hidden units, and Adam's memory of their gradients.

    The rows of theta (B, q) are what is trained: W1 (p, h), b1 (h,), b2 (10,) and, unless they
    are ``frozen``, the output weights W2 (10, h).
    """

    def __init__(self, examples: Examples, B: int, h: int, frozen: bool) -> None:
        p, A = examples.p, examples.A
        self.examples, self.B, self.h, self.frozen = examples, B, h, frozen
        sizes = [p * h, h, CLASSES] + ([] if frozen else [CLASSES * h])
        self.theta = zeros(A, (B, sum(sizes)))
        self._m, self._v = zeros(A, (B, sum(sizes))), zeros(A, (B, sum(sizes)))
        ends = np.cumsum([0, *sizes]).tolist()
        parts = [self.theta[:, i:j] for i, j in pairwise(ends)]  # views
        xp = namespace(A)
        self._W1 = xp.reshape(parts[0], (B, p, h))
        self._b1, self._b2 = parts[1][:, None, :], parts[2][:, None, :]
        self._W2 = zeros(A, (B, CLASSES, h)) if frozen else xp.reshape(parts[3], (B, CLASSES, h))
        self._rows = zeros(A, (B, BATCH), xp.int64)
        self._rate = zeros(A, (2,))
        self._full_step = replayed(partial(self._step, self._rows, self._rate), A)

    def train(self, rngs: Sequence[np.random.Generator], epochs: int, W2: Single | None) -> None:
        """Start afresh, a generator for each network, and go through all examples ``epochs`` times.

        W2 (B, 10, h) are the frozen output weights; None where they are trained.
        """
        xp, n = namespace(self.theta), self.examples.n
        theta = np.stack([_start(rng, self.examples.p, self.h, self.frozen) for rng in rngs])
        self.theta[...] = like(self.theta, theta)
        self._m[...] = 0.0
        self._v[...] = 0.0
        if W2 is not None:
            self._W2[...] = like(self.theta, W2)
        rates = like(self.theta, _rates(epochs * -(-n // BATCH)))
        step = 0
        for _ in range(epochs):
            # On a GPU this is done while the steps of the last epoch are still under way; a
            # permutation is drawn as numbers to be sorted there, which takes the host less time.
            keys = np.stack([rng.random(n, np.float32) for rng in rngs])  # (B, n)
            order = xp.argsort(like(self.theta, keys), axis=1, stable=True)
            for first in range(0, n, BATCH):
                self._advance(order[:, first : first + BATCH], rates[step, :])
                step += 1

    def losses(self, examples: Examples) -> Host:
        """Mean negative log-likelihood (B,) of the examples' classes."""
        xp = namespace(self.theta)
        _, _, scores = self._forward(examples.A)
        top = xp.max(scores, axis=2, keepdims=True)
        log_sum = top[:, :, 0] + xp.log(xp.sum(xp.exp(scores - top), axis=2))
        loss = xp.mean(log_sum - xp.sum(scores * examples.Y, axis=2), axis=1)
        return np.asarray(to_host(loss), dtype=np.float64)

    def _forward(self, A: Array) -> tuple[Array, Array, Array]:
        """Hidden units before and after ReLU, (B, b, h), and the classes' scores (B, b, 10)."""
        Z = A @ self._W1 + self._b1
        H = namespace(Z).clip(Z, 0.0, None)
        return Z, H, H @ self._W2.mT + self._b2

    def _advance(self, rows: Array, rate: Array) -> None:
        if rows.shape[1] < BATCH:  # the last of an epoch
            self._step(rows, rate)
            return
        self._rows[...] = rows
        self._rate[...] = rate
        self._full_step()

    def _step(self, rows: Array, rate: Array) -> None:
        """One step of Adam on the examples of rows (B, b), with ``rate`` as in ``_rates``."""
        g = self._gradient(rows)
        xp = namespace(g)
        self._m *= BETA_1
        self._m += g
        self._v *= BETA_2
        self._v += g * g
        self.theta -= self._m * rate[0] / (xp.sqrt(self._v) + rate[1])

    def _gradient(self, rows: Array) -> Array:
        """Of the mean negative log-likelihood of a batch in theta, (B, q)."""
        A, Y = self.examples.A[rows], self.examples.Y[rows]  # (B, b, p), (B, b, 10)
        Z, H, scores = self._forward(A)
        xp = namespace(Z)
        likelihood = xp.exp(scores - xp.max(scores, axis=2, keepdims=True))
        likelihood /= xp.sum(likelihood, axis=2, keepdims=True)
        dS = (likelihood - Y) / rows.shape[1]
        dZ = xp.where(Z > 0.0, dS @ self._W2, 0.0)
        parts = [A.mT @ dZ, xp.sum(dZ, axis=1), xp.sum(dS, axis=1)]
        if not self.frozen:
            parts.append(dS.mT @ H)
        return xp.concat([xp.reshape(part, (self.B, -1)) for part in parts], axis=1)


def _start(rng: np.random.Generator, p: int, h: int, frozen: bool) -> Single:
    """A new network's theta (q,): weights Xavier-normal, biases standard normal."""
    parts = [
        _xavier(rng, p, h),
        rng.standard_normal(h, np.float32),
        rng.standard_normal(CLASSES, np.float32),
    ]
    if not frozen:
        parts.append(_xavier(rng, h, CLASSES))
    return np.concatenate(parts)


def _xavier(rng: np.random.Generator, fan_in: int, fan_out: int) -> Single:
    deviation = np.float32(math.sqrt(2.0 / (fan_in + fan_out)))
    return deviation * rng.standard_normal(fan_in * fan_out, np.float32)


def _rates(steps: int) -> Single:
    """(steps, 2): r_t and e_t of Adam's step θ -= r_t·m / (sqrt(v) + e_t).

    m and v here are plain discounted sums, m ← β1·m + g and v ← β2·v + g². Adam's means
    are (1 - β1)·m / (1 - β1^t) and (1 - β2)·v / (1 - β2^t); these factors are in r_t and e_t.
    """
    t = np.arange(1, steps + 1)
    root = np.sqrt((1.0 - BETA_2**t) / (1.0 - BETA_2))
    r = LEARNING_RATE * (1.0 - BETA_1) / (1.0 - BETA_1**t) * root
    return np.stack([r, EPSILON * root], axis=1).astype(np.float32)
