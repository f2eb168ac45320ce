# SPDX-License-Identifier: Apache-2.0
"""What is measured, in which order, and with how much of the budget. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from stratalog_bench.options import Options
from stratalog_bench.quantities import size_text
from stratalog_bench.strategies import BY_NAME, CHAINS, LADDER, LEARNED, STRATEGIES, Strategy

# RA-checkpoint, table I: GiB of its six checkpoints.
GROWTH = (13, 26, 39, 52, 64, 75)
# Share of the budget of each section; what one leaves over goes to those after it.
SHARES = {
    "sizes": 36,
    "ladder": 10,
    "skew": 12,
    "growth": 14,
    "chains": 14,
    "learned": 10,
    "restart": 6,
    "end-to-end": 20,
    "closure": 10,
}
GROWTH_STRATEGIES = (
    "raw-fpp",
    "fpp-rows",
    "shared-rows",
    "shared-opt-rows",
    "hdf5-opt",
    "hdf5-direct",
    "fpp-compact",
)
# Everything at each checkpoint, as the papers write it and as we do, beside chains.
CHAINS_BESIDE = (
    "raw-fpp",
    "fpp-rows",
    "shared-rows",
    "hdf5-opt",
    "hdf5-direct",
    "fpp-compact",
    "fpp-streams",
)
RESTART_STRATEGIES = ("fpp-rows", "shared-rows", "hdf5-direct", "fpp-compact")


@dataclass(frozen=True)
class Task:
    """One start of the worker."""

    section: str
    ranks: int
    cases: tuple[str, ...]
    data: tuple[dict[str, Any], ...]
    repeats: int
    restarts: tuple[str, ...] = ()
    saves: int = 1  # of each strategy, by one writer
    keep: bool = False
    # Rank counts that restart from what was kept, beside bare reads of it.
    readers: tuple[int, ...] = ()


@dataclass
class Plan:
    tasks: list[Task] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)


def data_of(options: Options, size: int, skew: str = "balanced") -> dict[str, Any]:
    return {
        "name": f"{size_text(size)} {skew}",
        "bytes": size,
        "columns": options.columns,
        "skew": skew,
        "texture": options.texture,
        "seed": options.seed,
    }


def chosen(options: Options, names: Iterable[str]) -> tuple[str, ...]:
    """Those that are asked for."""
    return tuple(name for name in names if name in options.strategies)


def _names(strategies: Iterable[Strategy]) -> tuple[str, ...]:
    return tuple(one.name for one in strategies)


def _fitting(options: Options, free_disk: int, free_memory: int, plan: Plan) -> list[int]:
    """Sizes of which two copies fit on the disk, and into memory as held and as restarted."""
    fitting = []
    for size in options.sizes:
        if 2 * size > free_disk:
            plan.left_out.append(f"size {size_text(size)}: {size_text(free_disk)} of disk are free")
        elif free_memory and 2 * size > free_memory:
            plan.left_out.append(
                f"size {size_text(size)}: {size_text(free_memory)} of memory are free"
            )
        else:
            fitting.append(size)
    return fitting


def make_plan(options: Options, free_disk: int, free_memory: int) -> Plan:
    """All tasks but those of real closures, which depend on what their runs leave."""
    plan = Plan()
    sizes = _fitting(options, free_disk, free_memory, plan)
    if not sizes:
        return plan
    several = tuple(ranks for ranks in options.ranks if ranks > 1)
    many = several[-1] if several else options.ranks[-1]
    middle = sizes[len(sizes) // 2]
    fixed = chosen(options, _names(STRATEGIES))
    tasks = {
        "sizes": [
            Task(
                "sizes",
                ranks,
                fixed,
                tuple(data_of(options, s) for s in sizes),
                options.repeats,
                restarts=("as-written",),
            )
            for ranks in options.ranks
        ],
        "ladder": [
            Task(
                "ladder",
                many,
                ("hdf5-direct", *(one.name for one in LADDER)),
                tuple(
                    data_of(options, s) for s in dict.fromkeys((min(sizes[0] * 4, middle), middle))
                ),
                options.repeats,
            )
        ],
        "skew": [
            Task(
                "skew",
                ranks,
                fixed,
                tuple(data_of(options, middle, skew) for skew in options.skews),
                options.repeats,
            )
            for ranks in several[-1:]
        ],
        "growth": [
            Task(
                "growth",
                ranks,
                chosen(options, GROWTH_STRATEGIES),
                tuple(data_of(options, middle * part // GROWTH[-1]) for part in GROWTH),
                options.repeats,
                restarts=("as-written",),
            )
            for ranks in options.ranks
        ],
        "chains": [
            Task(
                "chains",
                ranks,
                chosen(options, (*CHAINS_BESIDE, *_names(CHAINS))),
                (data_of(options, middle) | {"grows": list(GROWTH)},),
                options.repeats,
                restarts=("as-written",),
            )
            for ranks in options.ranks
        ],
        "learned": [
            Task(
                "learned",
                many,
                chosen(options, (*_names(LEARNED), *_names(STRATEGIES))),
                (data_of(options, sizes[-1]),),
                options.repeats,
                saves=options.saves,
            )
        ],
        "restart": [
            Task(
                "restart",
                ranks,
                chosen(options, RESTART_STRATEGIES),
                (data_of(options, middle),),
                options.repeats,
                restarts=("as-written", "balanced"),
                keep=ranks == many,
                readers=tuple(sorted({1, 2, 3, *options.ranks, 7})),
            )
            for ranks in several
        ],
    }
    plan.tasks = [
        task
        for section in SHARES
        if section in options.sections
        for task in tasks.get(section, [])
        if task.cases
    ]
    return plan


def worker_spec(task: Task, options: Options, seconds: float, **more: Any) -> dict[str, Any]:
    """The worker's input."""
    cases = [BY_NAME[name].case(options.durability) for name in task.cases]
    if task.saves > 1:
        cases = [case | {"saves": task.saves} for case in cases]
    if task.keep:
        cases = [case | {"keep": True} for case in cases]
    return {
        "directory": str((options.work / "cases").resolve()),
        "data": list(task.data),
        "cases": cases,
        "repeats": task.repeats,
        "restarts": list(task.restarts),
        "seconds": seconds,
        **more,
    }
