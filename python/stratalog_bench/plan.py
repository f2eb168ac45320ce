# SPDX-License-Identifier: Apache-2.0
"""What is measured, in which order, and with how much of the budget. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from stratalog_bench.options import Options
from stratalog_bench.quantities import size_text
from stratalog_bench.strategies import (
    BY_NAME,
    CHAINS,
    LADDER,
    LEARNED,
    SERIAL,
    STRATEGIES,
    Strategy,
)

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


def _names(strategies: Iterable[Strategy]) -> tuple[str, ...]:
    return tuple(one.name for one in strategies)


# Which strategies a section measures, in this order. Those that are not here have their own.
SECTION_STRATEGIES = {
    "sizes": _names(STRATEGIES),
    "skew": _names(STRATEGIES),
    "growth": GROWTH_STRATEGIES,
    "chains": (*CHAINS_BESIDE, *_names(CHAINS)),
    "learned": _names((*LEARNED, *(one for one in STRATEGIES if not one.is_variant))),
    "restart": RESTART_STRATEGIES,
    "closure": _names(STRATEGIES),
}
# Sections about what ranks have to do with each other.
OF_SEVERAL_RANKS = ("skew", "restart")


@dataclass(frozen=True)
class Task:
    """One start of the worker."""

    section: str
    ranks: int
    cases: tuple[str, ...]
    data: tuple[dict[str, Any], ...]
    repeats: int
    restarts: tuple[str, ...] = ()
    serial: tuple[str, ...] = ()  # what one Python process writes beside them
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


def chosen(options: Options, section: str) -> tuple[str, ...]:
    """Strategies of the section that are asked for."""
    return _asked_for(options, SECTION_STRATEGIES[section])


def _asked_for(options: Options, names: Iterable[str]) -> tuple[str, ...]:
    return tuple(name for name in names if name in options.strategies)


def _serial(options: Options, ranks: int) -> tuple[str, ...]:
    """One process is beside one rank."""
    return _asked_for(options, _names(SERIAL)) if ranks == 1 else ()


def unmeasurable(options: Options) -> dict[str, str]:
    """Sections that are asked for and of which the other choices leave nothing, and why."""
    found = {}
    for section in options.sections:
        names = SECTION_STRATEGIES.get(section)
        serial = _names(SERIAL) if section == "sizes" else ()
        if section in OF_SEVERAL_RANKS and options.ranks[-1] == 1:
            found[section] = "takes 2 ranks or more, and --ranks gives 1"
        elif section == "closure" and "end-to-end" not in options.sections:
            found[section] = "saves what an end-to-end run leaves; add end-to-end to --only"
        elif names is None or chosen(options, section):
            continue
        elif not _asked_for(options, serial):
            has = ", ".join((*names, *serial))
            found[section] = f"measures none of the strategies that are asked for; it has {has}"
        elif 1 not in options.ranks:
            found[section] = f"measures {' and '.join(serial)} beside 1 rank, add that to --ranks"
    return found


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
                chosen(options, "sizes"),
                tuple(data_of(options, s) for s in sizes),
                options.repeats,
                restarts=("as-written",),
                serial=_serial(options, ranks),
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
                chosen(options, "skew"),
                tuple(data_of(options, middle, skew) for skew in options.skews),
                options.repeats,
            )
            for ranks in several[-1:]
        ],
        "growth": [
            Task(
                "growth",
                ranks,
                chosen(options, "growth"),
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
                chosen(options, "chains"),
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
                chosen(options, "learned"),
                (data_of(options, sizes[-1]),),
                options.repeats,
                saves=options.saves,
            )
        ],
        "restart": [
            Task(
                "restart",
                ranks,
                chosen(options, "restart"),
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
        if task.cases or task.serial
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
