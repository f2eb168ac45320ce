# SPDX-License-Identifier: Apache-2.0
"""What is measured, in which order, and with how much of the budget. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from stratalog_bench.options import Options
from stratalog_bench.quantities import size_text
from stratalog_bench.strategies import BY_NAME, LADDER

# RA-checkpoint, table I: GiB of its six checkpoints.
GROWTH = (13, 26, 39, 52, 64, 75)
# Share of the budget of each section; what one leaves over goes to those after it.
SHARES = {
    "sizes": 36,
    "ladder": 10,
    "skew": 12,
    "growth": 14,
    "restart": 6,
    "end-to-end": 12,
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
    tasks = {
        "sizes": [
            Task(
                "sizes",
                ranks,
                options.strategies,
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
                options.strategies,
                tuple(data_of(options, middle, skew) for skew in options.skews),
                options.repeats,
            )
            for ranks in several[-1:]
        ],
        "growth": [
            Task(
                "growth",
                ranks,
                tuple(name for name in GROWTH_STRATEGIES if name in options.strategies),
                tuple(data_of(options, middle * part // GROWTH[-1]) for part in GROWTH),
                options.repeats,
                restarts=("as-written",),
            )
            for ranks in options.ranks
        ],
        "restart": [
            Task(
                "restart",
                ranks,
                tuple(name for name in RESTART_STRATEGIES if name in options.strategies),
                (data_of(options, middle),),
                options.repeats,
                restarts=("as-written", "balanced"),
                keep=ranks == many,
                readers=tuple(sorted({1, *options.ranks, 3, 7})),
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
