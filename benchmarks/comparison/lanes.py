"""What the server of likelihoods does: requests that are alike are a batch, batches are in lanes.

A lane has the requests of one kernel and of data of about the same size. On a GPU it is a stream,
so that batches of several lanes are under way at once: small ones leave most of it idle.
"""

from __future__ import annotations

import signal
import time
from collections import deque
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import torch

from transect.kernels import KERNELS

from .batched import Batch, likelihoods, prepare
from .server import (
    IDLE,
    KERNEL_NAMES,
    MOST_COORDINATES,
    NEW_DATA,
    NUMBERS,
    QUEUED,
    WAITING,
    Slots,
)

# Data sets are filled up to one of these sizes: that costs less than is gained by batches of more
# of them. A batch of 8 takes more than half as long as one of 32.
WIDTHS = (128, 512, MOST_COORDINATES)  # coordinates
POINTS = 128  # or as many more
BATCHES = (4, 8, 16, 32, 64, 128)  # sizes of batches
FILLED_UP = 16  # requests; more of them make a larger batch worth its time only if it is full
MOST_UNDER_WAY = 4  # batches at once: with more they are smaller, and each takes longer
NAP = 2e-5  # seconds between two looks where nothing has happened


class Group(NamedTuple):
    """What can be one batch."""

    kernel: str
    width: int
    points: int


class Waiting(NamedTuple):
    """A request."""

    row: int
    number: int  # of all there were


def serve(slots: Slots, device: str) -> None:
    """Answer requests, for ever. A terminal's interrupt is for the runs, which need it to end."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if on_gpu(device):
        torch.cuda.set_device(device)
        for kernel in KERNELS.values():
            prepare(kernel, device)
    shared = slots.arrays()
    data: dict[int, Data] = {}
    lanes: dict[Group, Lane] = {}
    lane_of: dict[int, Lane] = {}  # by row
    count = 0  # of requests
    while True:
        state = shared["state"].copy()
        rows = np.flatnonzero(state >= WAITING)
        for row in rows.tolist():
            if state[row] == NEW_DATA:
                group = group_of(shared, row)
                if group.width not in data:
                    data[group.width] = Data(shared, group.width, device)
                if group not in lanes:
                    lanes[group] = Lane(group, data[group.width])
                lane_of[row] = lanes[group]
                lane_of[row].outdated.add(row)
            count += 1
            lane_of[row].queue.append(Waiting(row, count))
        shared["state"][rows] = QUEUED
        answered = [row for lane in lanes.values() for row in lane.ended()]
        for row in answered:
            slots.answered[slots.hand_of[row]].release()
        free = MOST_UNDER_WAY - sum(lane.under_way is not None for lane in lanes.values())
        for lane in sorted(filter(Lane.could_begin, lanes.values()), key=Lane.since)[:free]:
            lane.begin()
        if not answered and not len(rows):
            time.sleep(NAP)


def on_gpu(device: str) -> bool:
    return device.startswith("cuda")


def group_of(shared: dict[str, Any], row: int) -> Group:
    n, D = shared["size"][row]
    kernel = KERNEL_NAMES[int(shared["request"][row, 0])]
    points = min(-(-int(n) // POINTS) * POINTS, shared["y"].shape[1])
    return Group(kernel, next(w for w in WIDTHS if w >= D), points)


def batch_size(waiting: int) -> int:
    """Few are filled up to a batch; of many those beyond a full one go on waiting."""
    if waiting <= FILLED_UP:
        return min(b for b in BATCHES if b >= waiting)
    return max(b for b in BATCHES if b <= waiting)


class Data:
    """The data of all runs with up to ``width`` coordinates, on the device."""

    def __init__(self, shared: dict[str, Any], width: int, device: str) -> None:
        self.shared, self.width, self.device = shared, width, device
        count, points = shared["y"].shape
        self.X = torch.zeros((count, points, width), dtype=torch.double, device=device)
        self.y = torch.zeros((count, points), dtype=torch.double, device=device)
        self.there = torch.zeros_like(self.y)

    def fetch(self, row: int) -> None:
        """New data of that row, to the device."""
        n, D = self.shared["size"][row].astype(int)
        X = self.shared["X"][row, : n * D].reshape(n, D)
        self.X[row, :n, :D] = torch.from_numpy(X).to(self.device)
        self.y[row, :n] = torch.from_numpy(self.shared["y"][row, :n]).to(self.device)
        self.there[row, :n], self.there[row, n:] = 1.0, 0.0


class Lane:
    """The requests of one group, a batch after the other."""

    def __init__(self, group: Group, data: Data) -> None:
        self.group, self.data = group, data
        self.queue: deque[Waiting] = deque()
        self.outdated: set[int] = set()  # those of which new data is to be fetched
        self.under_way: tuple[Recorded, list[int]] | None = None
        self.recorded: dict[int, Recorded] = {}  # by size of the batch
        self.on_gpu = on_gpu(data.device)

    def could_begin(self) -> bool:
        return self.under_way is None and bool(self.queue)

    def since(self) -> int:
        """What tells who has waited longer, of two lanes where some are waiting."""
        return self.queue[0].number

    def ended(self) -> list[int]:
        """The rows of a batch that has come to its end."""
        if self.under_way is None:
            return []
        recorded, rows = self.under_way
        if not recorded.is_done():
            return []
        self.under_way = None
        shared = self.data.shared
        shared["reply"][rows, : NUMBERS + self.group.width] = recorded.reply[: len(rows)]
        shared["state"][rows] = IDLE
        return rows

    def begin(self) -> None:
        b = batch_size(len(self.queue))
        if b not in self.recorded:
            self.recorded[b] = Recorded(self, b)
        recorded, shared = self.recorded[b], self.data.shared
        rows = [self.queue.popleft().row for _ in range(min(b, len(self.queue)))]
        with self.context():
            for row in self.outdated.intersection(rows):
                self.data.fetch(row)
            self.outdated.difference_update(rows)
            given = recorded.given
            given[: len(rows)] = shared["request"][rows, : NUMBERS + self.group.width]
            given[: len(rows), 0] = rows  # in place of the kernel, which is the lane's
            given[len(rows) :] = given[0]
            recorded.launch()
        self.under_way = recorded, rows

    def replies(self, given: Any) -> Any:
        """(b, NUMBERS + width) to what was asked for of the data sets given[:, 0]."""
        kernel, n, at = KERNELS[self.group.kernel], self.group.points, given[:, 0].long()
        X, y, there = (array[at, :n] for array in (self.data.X, self.data.y, self.data.there))
        amplitude, noise, mean = given[:, 1:NUMBERS].T
        batch = Batch(X, y, there, given[:, NUMBERS:], amplitude, noise, mean)
        found = likelihoods(kernel, batch, fused=self.on_gpu)
        scalars = torch.stack([found.value, *found[2:]], dim=1)
        return torch.cat([scalars, found.by_lengthscale], dim=1)

    def context(self) -> AbstractContextManager[Any]:
        return torch.cuda.stream(self.stream) if self.on_gpu else nullcontext()

    @cached_property
    def stream(self) -> Any:
        return torch.cuda.Stream()

    @cached_property
    def pool(self) -> Any:
        """Of memory; recorded batches of a lane are never under way together."""
        return torch.cuda.graph_pool_handle()


class Recorded:
    """A batch of one size: what to fill in, the launch, the reply.

    On a GPU it is recorded once, and then one launch instead of a hundred.
    """

    def __init__(self, lane: Lane, b: int) -> None:
        self.lane = lane
        shape = b, NUMBERS + lane.group.width
        self._given = torch.ones(shape, dtype=torch.double, pin_memory=lane.on_gpu)
        self._given[:, 0] = 0.0
        self._reply = torch.empty_like(self._given, pin_memory=lane.on_gpu)
        self.given, self.reply = self._given.numpy(), self._reply.numpy()
        if lane.on_gpu:
            self._record()

    def _record(self) -> None:
        lane = self.lane
        self.given_there, self.end = self._given.to(lane.data.device), torch.cuda.Event()
        lane.stream.wait_stream(torch.cuda.current_stream())
        with lane.context():  # libraries set up what they need
            lane.replies(self.given_there)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph, pool=lane.pool, stream=lane.stream):
            self.reply_there = lane.replies(self.given_there)

    def launch(self) -> None:
        if self.lane.on_gpu:
            self.given_there.copy_(self._given, non_blocking=True)
            self.graph.replay()
            self._reply.copy_(self.reply_there, non_blocking=True)
            self.end.record(self.lane.stream)
        else:
            self._reply.copy_(self.lane.replies(self._given))

    def is_done(self) -> bool:
        return not self.lane.on_gpu or bool(self.end.query())
