# SPDX-License-Identifier: Apache-2.0
"""The cost model of a strategy, fitted to measurements:

seconds = start + per_file * files + per_rank * (ranks - 1) + bytes / device + share / core

where `share` are the bytes that the busiest core has to pack, hash and encode.

A pure function of measured costs. No coefficient is negative (a file does not earn time), and
errors are those of logarithms, so that half as long is as wrong as twice as long, and a small
checkpoint counts as much as a large one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import median

import numpy as np

_ROUNDS = 30


@dataclass(frozen=True)
class Cost:
    """One measurement."""

    files: int
    ranks: int
    bytes: int
    share: float  # bytes on the busiest core
    seconds: float


@dataclass(frozen=True)
class CostModel:
    """Coefficients, and how far the model is from what it was fitted to."""

    start_seconds: float
    seconds_per_file: float
    seconds_per_rank: float  # beyond the first
    seconds_per_byte: float  # of all ranks together: the device
    seconds_per_share: float  # of the busiest core's
    median_error: float  # of |model / measured - 1|
    largest_error: float
    points: int
    parameters: int  # coefficients that are not 0

    @property
    def is_tested(self) -> bool:
        """Whether there are enough points for the errors to say anything: a model passes through
        as many points as it has parameters, whatever they are."""
        return self.points >= 2 * self.parameters

    @property
    def device_bandwidth(self) -> float:
        """Bytes per second of what all ranks share; infinite if nothing grows with the sum."""
        return 1 / self.seconds_per_byte if self.seconds_per_byte > 0 else float("inf")

    @property
    def core_bandwidth(self) -> float:
        """Bytes per second of a core; infinite if nothing grows with its share."""
        return 1 / self.seconds_per_share if self.seconds_per_share > 0 else float("inf")

    def seconds(self, files: float, ranks: float, size: float, share: float) -> float:
        """What a checkpoint of `size` bytes by `ranks` ranks in `files` files should take."""
        return (
            self.start_seconds
            + self.seconds_per_file * files
            + self.seconds_per_rank * (ranks - 1)
            + self.seconds_per_byte * size
            + self.seconds_per_share * share
        )


def _solve(features: np.ndarray, times: np.ndarray) -> tuple[float, np.ndarray] | None:
    """Coefficients >= 0 with a small squared error of logarithms, and that error."""
    weights, target = 1 / times, np.ones(len(times))
    solved = np.zeros(features.shape[1])
    for _ in range(_ROUNDS):
        weighted = features * weights[:, None]
        scale = np.abs(weighted).max(axis=0)
        if not (scale > 0).all():
            return None
        solved = np.linalg.lstsq(weighted / scale, target)[0] / scale
        modelled = features @ solved
        if (modelled <= 0).any():
            return None
        # Gauss-Newton: log(m) is about log(m0) + m / m0 - 1.
        weights = 1 / modelled
        target = 1 + np.clip(np.log(times / modelled), -2.5, 2.5)
    if (solved < 0).any():
        return None
    return float((np.log(features @ solved / times) ** 2).sum()), solved


def fit(costs: Sequence[Cost]) -> CostModel | None:
    """The best model, or None below three measurements.

    What does not vary over the measurements (files, ranks) gets no cost of its own. Where files
    and ranks grow together, the cost goes to the files; where shares are all of it, to the device.
    """
    usable = [cost for cost in costs if cost.seconds > 0]
    if len(usable) < 3:
        return None
    features = np.array([[1.0, c.files, c.ranks - 1, c.bytes, c.share] for c in usable])
    times = np.array([cost.seconds for cost in usable])
    columns = [0, *(i for i in (1, 2, 3) if len(set(features[:, i].tolist())) > 1)]
    if len({round(c.share / c.bytes, 6) for c in usable if c.bytes}) > 1:
        columns.append(4)
    best: tuple[float, np.ndarray] | None = None
    # Of so few columns, try every choice; fewer ones win ties.
    for count in range(1, len(columns) + 1):
        for chosen in combinations(columns, count):
            solved = _solve(features[:, chosen], times)
            if solved is None or (best is not None and solved[0] >= best[0] * (1 - 1e-9)):
                continue
            coefficients = np.zeros(5)
            coefficients[list(chosen)] = solved[1]
            best = (solved[0], coefficients)
    if best is None:
        return None
    errors = np.abs(features @ best[1] / times - 1)
    start, per_file, per_rank, per_byte, per_share = (float(value) for value in best[1])
    return CostModel(
        start_seconds=start,
        seconds_per_file=per_file,
        seconds_per_rank=per_rank,
        seconds_per_byte=per_byte,
        seconds_per_share=per_share,
        median_error=float(median(errors.tolist())),
        largest_error=float(errors.max()),
        points=len(usable),
        parameters=int(np.count_nonzero(best[1])),
    )
