"""One process that evaluates the likelihoods of all runs together, on a GPU.

BoTorch's fits take a thousand evaluations of a likelihood each. A run writes where it wants one
into its slot of shared memory and sleeps; the server takes all that wait at the time, evaluates
them as one batch, and wakes them. Nothing of the fit itself is here: its optimiser stays where it
was, and calls ``Asked`` where it called ``closed_form.Likelihood``.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.shared_memory import SharedMemory
from typing import Any

import numpy as np

from transect._array import Host
from transect.kernels import KERNELS, Kernel

from . import closed_form
from .closed_form import Value

IDLE, WAITING, NEW_DATA = 0, 1, 2  # states of a slot; with new data it waits, too
WIDTHS = (128, 512, 5120)  # coordinates are filled up to one of these: one batch each
NAP = 2e-5  # seconds between two looks where nobody waits
PATIENCE = 100.0  # seconds after which a run takes the server for gone
NUMBERS = 4  # of a request beside the length-scales: kernel, amplitude, noise, mean
KERNEL_NAMES = tuple(KERNELS)


class Slots:
    """What runs and server share: a row for each of ``count`` runs of at most ``points``.

    A request is written before the state that announces it. Processors that let others see
    writes in another order than they were made in (x86 does not) would need more than that.
    """

    def __init__(self, context: Any, count: int, points: int) -> None:
        D, points = WIDTHS[-1], in_blocks(points)
        self.shapes = {
            "state": (count,),
            "size": (count, 2),  # n, D
            "X": (count, points * D),
            "y": (count, points),
            "request": (count, NUMBERS + D),
            "reply": (count, NUMBERS + D),
        }
        self.taken = context.Value("q", 0)
        self.answered = [context.Semaphore(0) for _ in range(count)]
        self.memory = SharedMemory(create=True, size=8 * sum(map(math.prod, self.shapes.values())))

    def arrays(self) -> dict[str, Any]:
        """Views of the memory, by name. Whole numbers are kept as they are in doubles."""
        found, start = {}, 0
        for name, shape in self.shapes.items():
            found[name] = np.ndarray(shape, np.float64, self.memory.buf, 8 * start)
            start += math.prod(shape)
        return found

    def take(self) -> int:
        """A row that no other process has."""
        with self.taken.get_lock():
            self.taken.value += 1
            return int(self.taken.value) - 1


class Asked:
    """The likelihood of one data set, as ``closed_form.Likelihood``, evaluated by the server."""

    def __init__(self, slots: Slots, row: int, kernel: Kernel, X: Host, y: Host) -> None:
        self.y, self.kernel, self.woken = y, KERNEL_NAMES.index(kernel.name), slots.answered[row]
        self.mine = {name: array[row : row + 1] for name, array in slots.arrays().items()}
        self.mine["size"][0] = X.shape
        self.mine["X"][0, : X.size] = (X - np.mean(X, axis=0)).ravel()
        self.mine["y"][0, : len(y)] = y
        self.state = NEW_DATA

    def __call__(
        self, lengthscale: Host, amplitude: float, noise: float, mean: float
    ) -> Value | None:
        request, reply = self.mine["request"][0], self.mine["reply"][0]
        request[:NUMBERS] = self.kernel, amplitude, noise, mean
        request[NUMBERS : NUMBERS + len(lengthscale)] = lengthscale
        self.mine["state"][0] = self.state
        self.state = WAITING
        if not self.woken.acquire(timeout=PATIENCE):
            raise RuntimeError("the server of likelihoods does not answer")
        value, *others = reply[:NUMBERS].tolist()
        if not math.isfinite(value):
            return None
        return Value(value, reply[NUMBERS : NUMBERS + len(lengthscale)].copy(), *others)


@contextmanager
def serving(context: Any, count: int, points: int, device: str) -> Iterator[Slots]:
    """Slots for ``count`` runs, and processes that serve them until the end of the block."""
    slots = Slots(context, count, points)
    servers = [
        context.Process(target=serve, args=(slots, width, device), daemon=True) for width in WIDTHS
    ]
    for server in servers:
        server.start()
    try:
        yield slots
    finally:
        for server in servers:
            server.kill()
            server.join()
        slots.memory.close()
        slots.memory.unlink()


def take_part(slots: Slots) -> None:
    """From here on this process has its likelihoods evaluated by the servers of ``slots``."""
    row = slots.take()
    closed_form.likelihood_of = lambda kernel, X, y: Asked(slots, row, kernel, X, y)


def serve(slots: Slots, width: int, device: str) -> None:
    """Answer requests with as many coordinates as the width has room for, for ever."""
    shared = slots.arrays()
    data, kind = Data(shared, width, device), 0.0
    while True:
        rows = np.flatnonzero(shared["state"].copy())  # NumPy counts twice, and it may change
        rows = rows[np.take(WIDTHS, np.searchsorted(WIDTHS, shared["size"][rows, 1])) == width]
        if not len(rows):
            time.sleep(NAP)
            continue
        kinds = shared["request"][rows, 0]
        kind = max(kinds, key=lambda each: each != kind)  # by turns, where there are several
        rows = rows[kinds == kind]
        data.answer(KERNELS[KERNEL_NAMES[int(kind)]], rows)
        shared["state"][rows] = IDLE
        for row in rows:
            slots.answered[row].release()


class Data:
    """The data of all runs with up to ``width`` coordinates, on the device."""

    def __init__(self, shared: dict[str, Any], width: int, device: str) -> None:
        import torch

        self.shared, self.width, self.device = shared, width, device
        count, points = shared["y"].shape
        self.X = torch.zeros((count, points, width), dtype=torch.double, device=device)
        self.y = torch.zeros((count, points), dtype=torch.double, device=device)
        self.there = torch.zeros_like(self.y)
        self.recorded: dict[tuple[str, int, int], Recorded] = {}

    def answer(self, kernel: Kernel, rows: Any) -> None:
        """Evaluate the requests in these rows of the shared memory."""
        import torch

        for row in rows[self.shared["state"][rows] == NEW_DATA]:
            self._fetch(row)
        n = in_blocks(int(np.max(self.shared["size"][rows, 0])))
        b = 2 ** math.ceil(math.log2(len(rows)))  # the first one again and again, up to that
        key = kernel.name, n, b
        if key not in self.recorded:
            self.recorded[key] = Recorded(lambda at, given: self._of(kernel, n, at, given), self, b)
        at = np.concatenate([rows, np.repeat(rows[:1], b - len(rows))])
        given = self.shared["request"][at, : NUMBERS + self.width]
        D = self.shared["size"][at, 1]
        given[np.arange(given.shape[1]) >= NUMBERS + D[:, None]] = 1.0  # missing coordinates
        reply = self.recorded[key](torch.from_numpy(at), torch.from_numpy(given))
        self.shared["reply"][rows, : reply.shape[1]] = reply[: len(rows)].cpu().numpy()

    def _of(self, kernel: Kernel, n: int, at: Any, given: Any) -> Any:
        """Replies (b, NUMBERS + width) to what was asked for of the data sets at (b,)."""
        import torch

        from .batched import Batch, likelihoods

        X, y, there = (array[at, :n] for array in (self.X, self.y, self.there))
        amplitude, noise, mean = given[:, 1:NUMBERS].T
        batch = Batch(X, y, there, given[:, NUMBERS:], amplitude, noise, mean)
        found = likelihoods(kernel, batch)
        scalars = torch.stack([found.value, *found[2:]], dim=1)
        return torch.cat([scalars, found.by_lengthscale], dim=1)

    def _fetch(self, row: int) -> None:
        """New data of that row, to the device."""
        import torch

        n, D = self.shared["size"][row].astype(int)
        self.X[row].zero_()
        X = self.shared["X"][row, : n * D].reshape(n, D)
        self.X[row, :n, :D] = torch.from_numpy(X).to(self.device)
        self.y[row, :n] = torch.from_numpy(self.shared["y"][row, :n]).to(self.device)
        self.y[row, n:] = 0.0
        self.there[row, :n], self.there[row, n:] = 1.0, 0.0


class Recorded:
    """A function of b data sets and requests, on a GPU as one launch instead of a hundred."""

    def __init__(self, function: Callable[[Any, Any], Any], data: Data, b: int) -> None:
        import torch

        self.function, self.graph = function, None
        self.at = torch.zeros(b, dtype=torch.int64, device=data.device)
        self.given = torch.ones((b, NUMBERS + data.width), dtype=torch.double, device=data.device)
        if data.device.startswith("cuda"):
            beside = torch.cuda.Stream()
            beside.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(beside):  # what libraries set up at a first call
                function(self.at, self.given)
            torch.cuda.current_stream().wait_stream(beside)
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                self.reply = function(self.at, self.given)

    def __call__(self, at: Any, given: Any) -> Any:
        self.at.copy_(at)
        self.given.copy_(given)
        if self.graph is None:
            return self.function(self.at, self.given)
        self.graph.replay()
        return self.reply


def in_blocks(n: int) -> int:
    """At least n points, in whole blocks."""
    from .batched import BLOCK

    return -(-n // BLOCK) * BLOCK
