# SPDX-License-Identifier: Apache-2.0
"""The strategies that are compared: rows of one table, with the colours of the figures."""

from __future__ import annotations

from dataclasses import dataclass, replace
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
    parts: str = "whole"  # of what grows; "growth": only what is new, in chains
    files: int = 0  # over which ranks are spread; 0: as the policy thinks best

    @property
    def learns(self) -> bool:
        """Chooses for each save among the fixed ones, by what earlier saves have cost."""
        return self.mode in ("auto", "hdf5-auto")

    @property
    def is_variant(self) -> bool:
        """A mode as it was before something was found better: as a paper prints it, with what is
        void or does harm, or in one file. Stands beside the mode only where both are measured."""
        return self.ladder == "printed" or self.files != 0

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
        }
        if not self.is_peer:
            case |= {
                "encoding": self.encoding,
                "ladder": self.ladder,
                "parts": self.parts,
                "files": self.files,
            }
        return case | more


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
    Strategy(
        "hdf5-opt-printed",
        "hdf5-opt",
        ROWS,
        "#b35900",
        "the ladder to the letter of HDF5-OPT, with what is void or does harm",
        ladder="printed",
    ),
    Strategy("hdf5-direct", "hdf5-direct", ROWS, "#2ca02c", "one rank lays HDF5 out, all pwrite"),
    Strategy(
        "hdf5-direct-one-file",
        "hdf5-direct",
        ROWS,
        "#145214",
        "the same into one file, also where one kernel lets one writer at a time into it",
        files=1,
    ),
    Strategy("fpp-compact", "fpp", COMPACT, "#9467bd", "file per process, sets as gaps and runs"),
    Strategy("fpp-streams", "fpp", STREAMS, "#e377c2", "file per process, bit-packed streams"),
    Strategy("hdf5-streams", "hdf5-streams", STREAMS, "#8c6d31", "deflated streams in HDF5"),
)
# They are told apart by sequences of checkpoints only: a first save shows the table's choice.
LEARNED: tuple[Strategy, ...] = (
    Strategy("auto", "auto", "auto", "#393b79", "fpp or shared-opt, whichever has cost least"),
    Strategy("hdf5-auto", "hdf5-auto", ROWS, "#637939", "the same among hdf5-direct and hdf5-opt"),
)
GROWTH_SUFFIX = "+growth"  # of a chain: full, then what is new


def _chain(of: str, colour: str, about: str) -> Strategy:
    whole = next(one for one in (*STRATEGIES, *LEARNED) if one.name == of)
    return replace(whole, name=of + GROWTH_SUFFIX, colour=colour, about=about, parts="growth")


# Every checkpoint holds what is new; whole where the rule of runs ends a chain.
CHAINS: tuple[Strategy, ...] = (
    _chain("fpp-rows", "#aec7e8", "full + delta as rows of uint64, a file per process (papers)"),
    _chain("shared-rows", "#e7969c", "the same in shared files (papers)"),
    _chain("hdf5-opt", "#ffbb78", "full + delta in HDF5, tuned (HDF5-OPT)"),
    _chain("hdf5-direct", "#98df8a", "full + delta in HDF5, laid out by rank 0"),
    _chain("fpp-compact", "#c5b0d5", "full + delta, sets as gaps and runs"),
    _chain("fpp-streams", "#f7b6d2", "full + delta, bit-packed streams"),
    _chain("hdf5-streams", "#e7cb94", "full + delta, deflated streams in HDF5"),
    _chain("auto", "#9c9ede", "full + delta, fpp or shared-opt by cost"),
    _chain("hdf5-auto", "#b5cf6b", "full + delta, hdf5-direct or hdf5-opt by cost"),
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
MODE_COLOURS = {
    one.mode: one.colour for one in STRATEGIES if one.encoding == ROWS and not one.is_variant
}
BY_NAME = {one.name: one for one in (*STRATEGIES, *LEARNED, *CHAINS, *SERIAL, *LADDER)}


@dataclass(frozen=True)
class RunWay:
    """One way in which end-to-end runs write checkpoints: options of `stratalog run`."""

    name: str
    words: tuple[str, ...]
    colour: str


_WHOLE, _HELD = ("--full-every", "1"), ("--no-overlap",)


def _papers_way(mode: str, encoding: str = "") -> RunWay:
    """As the papers: everything at every checkpoint, as rows, and the run waits."""
    name = mode + ("-rows" if encoding else "")
    words = ("--mode", mode, *(("--encoding", encoding) if encoding else ()))
    return RunWay(name, (*words, *_WHOLE, *_HELD), BY_NAME[name].colour)


RUN_WAYS: tuple[RunWay, ...] = (
    _papers_way("fpp", "rows_u64"),
    _papers_way("shared", "rows_u64"),
    _papers_way("shared-opt", "rows_u64"),
    _papers_way("hdf5"),
    _papers_way("hdf5-opt"),
    _papers_way("hdf5-direct"),
    RunWay("fpp", ("--mode", "fpp", *_WHOLE, *_HELD), "#9467bd"),
    RunWay("fpp+overlap", ("--mode", "fpp", *_WHOLE), "#c5b0d5"),
    RunWay("fpp+growth", ("--mode", "fpp", *_HELD), "#e377c2"),
    RunWay("fpp+growth+overlap", ("--mode", "fpp"), "#f7b6d2"),
    RunWay("hdf5-streams+growth", ("--mode", "hdf5-streams", *_HELD), "#8c6d31"),
    RunWay("hdf5-streams+growth+overlap", ("--mode", "hdf5-streams"), "#e7cb94"),
    RunWay("auto+growth", ("--mode", "auto", *_HELD), "#393b79"),
    RunWay("hdf5-auto+growth", ("--mode", "hdf5-auto", *_HELD), "#637939"),
)
RUN_COLOURS = {way.name: way.colour for way in RUN_WAYS}
# In the order in which a save passes through them.
PHASES = ("metadata", "pack", "route", "encode", "write", "sync", "commit")
PHASE_COLOURS = dict(
    zip(
        PHASES,
        ("#bab0ac", "#4e79a7", "#76b7b2", "#59a14f", "#f28e2b", "#e15759", "#b07aa1"),
        strict=True,
    )
)
