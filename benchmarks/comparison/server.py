"""One process evaluates the likelihoods of all runs together, on a GPU: how runs ask it.

BoTorch's fits take hundreds of evaluations of a likelihood each, or thousands. A run writes where
it wants one into its slot of shared memory and lets others of its process go on (``turns``); the
server, whose part is in ``lanes``, evaluates those that wait. Nothing of the fit itself is here:
its optimiser stays where it was, and calls ``Asked`` where it called ``closed_form.Likelihood``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from multiprocessing.shared_memory import SharedMemory
from typing import Any

import numpy as np

from transect._array import Host
from transect.kernels import KERNELS, Kernel

from .closed_form import Value

IDLE, QUEUED, WAITING, NEW_DATA = 0, 1, 2, 3  # states of a slot; with new data it waits, too
NUMBERS = 4  # of a request beside the length-scales: kernel, amplitude, noise, mean
MOST_COORDINATES = 5120
KERNEL_NAMES = tuple(KERNELS)


class Slots:
    """What runs and server share: a row for each run of at most ``points``.

    A request is written before the state that announces it. Processors that let others see
    writes in another order than they were made in (x86 does not) would need more than that.
    """

    def __init__(self, context: Any, hands: Sequence[Sequence[int]], points: int) -> None:
        """``hands``: the rows of each process that has runs."""
        self.hand_of = {row: i for i, rows in enumerate(hands) for row in rows}
        self.answered = [context.Semaphore(0) for _ in hands]
        count, D, points = len(self.hand_of), MOST_COORDINATES, in_blocks(points)
        self.shapes = {
            "state": (count,),
            "size": (count, 2),  # n, D
            "X": (count, points * D),
            "y": (count, points),
            "request": (count, NUMBERS + D),
            "reply": (count, NUMBERS + D),
        }
        self.memory = SharedMemory(create=True, size=8 * sum(map(math.prod, self.shapes.values())))

    def arrays(self) -> dict[str, Any]:
        """Views of the memory, by name. Whole numbers are kept as they are in doubles."""
        found, start = {}, 0
        for name, shape in self.shapes.items():
            found[name] = np.ndarray(shape, np.float64, self.memory.buf, 8 * start)
            start += math.prod(shape)
        return found


class Asked:
    """The likelihood of one data set, as ``closed_form.Likelihood``, evaluated by the server.

    A row has one data set: once there is a newer one, the older must not be called any more.
    """

    def __init__(
        self, arrays: dict[str, Any], row: int, wait: Callable[[], None], kernel: Kernel, X: Host,
        y: Host,
    ) -> None:  # fmt: skip
        self.y, self.kernel, self.wait = y, KERNEL_NAMES.index(kernel.name), wait
        self.state, self.row = arrays["state"], row
        self.request, self.reply = arrays["request"][row], arrays["reply"][row]
        arrays["size"][row] = X.shape
        arrays["X"][row, : X.size] = (X - np.mean(X, axis=0)).ravel()
        arrays["y"][row, : len(y)] = y
        self.request[NUMBERS + X.shape[1] :] = 1.0  # of coordinates that there are not
        self.announced = NEW_DATA

    def __call__(
        self, lengthscale: Host, amplitude: float, noise: float, mean: float
    ) -> Value | None:
        end = NUMBERS + len(lengthscale)
        self.request[:NUMBERS] = self.kernel, amplitude, noise, mean
        self.request[NUMBERS:end] = lengthscale
        self.state[self.row] = self.announced
        self.announced = WAITING
        self.wait()
        value, *others = self.reply[:NUMBERS].tolist()
        if not math.isfinite(value):
            return None
        return Value(value, self.reply[NUMBERS:end].copy(), *others)


@contextmanager
def serving(
    context: Any, hands: Sequence[Sequence[int]], points: int, device: str
) -> Iterator[Slots]:
    """Slots for all runs, and a process that serves them until the end of the block."""
    from .lanes import serve

    slots = Slots(context, hands, points)
    server = context.Process(target=serve, args=(slots, device), daemon=True)
    server.start()
    try:
        yield slots
    finally:
        server.kill()
        server.join()
        slots.memory.close()
        slots.memory.unlink()


def in_blocks(n: int) -> int:
    """At least n points, in whole blocks."""
    from .batched import BLOCK

    return -(-n // BLOCK) * BLOCK
