# SPDX-License-Identifier: Apache-2.0
"""The strategies that are compared: rows of one table, with the colours of the figures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

PEERS = ("raw-fpp", "raw-shared")


@dataclass(frozen=True)
class Strategy:
    """One way to write a checkpoint. `name` is also the name of its folder."""

    name: str
    mode: str
    encoding: str
    colour: str
    about: str
    ladder: str = "all"

    @property
    def is_peer(self) -> bool:
        """Not a checkpoint, but what is measured against."""
        return self.mode in PEERS

    def case(self, durability: str, **more: Any) -> dict[str, Any]:
        """As the worker reads it."""
        case: dict[str, Any] = {
            "name": self.name,
            "strategy": self.mode,
            "durability": durability,
            **more,
        }
        if not self.is_peer:
            case |= {"encoding": self.encoding, "ladder": self.ladder}
        return case


ROWS, COMPACT, STREAMS = "rows_u64", "compact", "streams"

STRATEGIES: tuple[Strategy, ...] = (
    Strategy("raw-fpp", "raw-fpp", "", "#9aa0a6", "a file per rank, pwrite + fsync, nothing else"),
    Strategy("raw-shared", "raw-shared", "", "#5f6368", "one file, pwrite at offsets + fsync"),
    Strategy(
        "fpp-rows", "fpp", ROWS, "#1f77b4", "file per process, rows of uint64 (RA-checkpoint)"
    ),
    Strategy("shared-rows", "shared", ROWS, "#d62728", "shared file, MPI collective I/O"),
    Strategy("shared-opt-rows", "shared-opt", ROWS, "#ff9896", "the same with tuned ROMIO hints"),
    Strategy("hdf5", "hdf5", ROWS, "#8c564b", "parallel HDF5 as it comes (HDF5-OPT's baseline)"),
    Strategy("hdf5-opt", "hdf5-opt", ROWS, "#ff7f0e", "HDF5 with the tuning ladder O1 to O7"),
    Strategy("hdf5-direct", "hdf5-direct", ROWS, "#2ca02c", "rank 0 lays HDF5 out, ranks pwrite"),
    Strategy("fpp-compact", "fpp", COMPACT, "#9467bd", "file per process, sets as gaps and runs"),
    Strategy("fpp-streams", "fpp", STREAMS, "#e377c2", "file per process, bit-packed streams"),
)
# Written by one Python process, for scale.
SERIAL: tuple[Strategy, ...] = (
    Strategy("numpy", "numpy", ROWS, "#17becf", "one process: ndarray.tofile + fsync"),
    Strategy("h5py", "h5py", ROWS, "#bcbd22", "one process: h5py data set + fsync"),
)
LADDER: tuple[Strategy, ...] = tuple(
    Strategy(
        f"ladder-{steps}",
        "hdf5-opt",
        ROWS,
        "#ff7f0e",
        "hdf5-opt with steps O1 to " + f"O{steps}" if steps else "hdf5-opt without any step",
        ladder=",".join(f"O{step}" for step in range(1, steps + 1)) or "none",
    )
    for steps in range(8)
)
BY_NAME = {one.name: one for one in (*STRATEGIES, *SERIAL, *LADDER)}
# End-to-end runs use the command's own modes.
OVERLAPPED = "+overlap"  # checkpoints are written beside the evaluation
RUN_MODES = ("fpp", "fpp" + OVERLAPPED, "shared", "shared-opt", "hdf5", "hdf5-opt", "hdf5-direct")
RUN_COLOURS = {one.mode: one.colour for one in STRATEGIES if one.encoding == ROWS}
RUN_COLOURS["fpp" + OVERLAPPED] = "#aec7e8"
# In the order in which a save passes through them.
PHASES = ("metadata", "pack", "route", "encode", "write", "sync", "commit")
PHASE_COLOURS = dict(
    zip(
        PHASES,
        ("#bab0ac", "#4e79a7", "#76b7b2", "#59a14f", "#f28e2b", "#e15759", "#b07aa1"),
        strict=True,
    )
)
