# SPDX-License-Identifier: Apache-2.0
"""The command line of `stratalog bench checkpoint` as checked values."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from stratalog_bench.quantities import parse_seconds, parse_size
from stratalog_bench.strategies import CHAINS, LEARNED, SERIAL, STRATEGIES

SKEWS = ("balanced", "one-giant", "half-empty", "power-law")
# In the order in which they run.
SECTIONS = (
    "sizes",
    "ladder",
    "skew",
    "growth",
    "chains",
    "learned",
    "restart",
    "end-to-end",
    "closure",
)
DEFAULT_STRATEGIES = tuple(one.name for one in (*STRATEGIES, *LEARNED, *CHAINS, *SERIAL))
# Real ones first: the section "closure" saves the relations of the first.
CLOSURES = ("usroads", "fe_ocean", "road")


@dataclass(frozen=True)
class Options:
    """Everything that decides what is measured and where it goes."""

    output: Path
    work: Path
    ranks: tuple[int, ...]
    sizes: tuple[int, ...]
    skews: tuple[str, ...]
    strategies: tuple[str, ...]
    sections: tuple[str, ...]
    repeats: int
    budget: float
    columns: int
    texture: str
    durability: str
    seed: int
    saves: int
    grid: int
    closures: tuple[str, ...]
    data_sets: Path
    facts: Path | None
    redraw: Path | None
    is_modelled: bool
    is_quiet: bool


def _words(known: tuple[str, ...], what: str, text: str) -> tuple[str, ...]:
    words = tuple(word.strip() for word in text.split(",") if word.strip())
    for word in words:
        if word not in known:
            raise argparse.ArgumentTypeError(f"'{word}' is no {what}; there are {', '.join(known)}")
    if not words:
        raise argparse.ArgumentTypeError(f"no {what} given")
    return tuple(dict.fromkeys(words))


def _ranks(text: str) -> tuple[int, ...]:
    try:
        ranks = tuple(sorted({int(word) for word in text.split(",")}))
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"'{text}' is no list of rank counts such as 1,2,4"
        ) from None
    if ranks[0] < 1 or ranks[-1] > 4096:
        raise argparse.ArgumentTypeError("rank counts are 1 to 4096")
    return ranks


def _sizes(text: str) -> tuple[int, ...]:
    try:
        sizes = tuple(sorted({parse_size(word) for word in text.split(",")}))
    except ValueError as problem:
        raise argparse.ArgumentTypeError(str(problem)) from None
    if sizes[0] < 64_000:
        raise argparse.ArgumentTypeError("sizes begin at 64K")
    return sizes


def _seconds(text: str) -> float:
    try:
        seconds = parse_seconds(text)
    except ValueError as problem:
        raise argparse.ArgumentTypeError(str(problem)) from None
    if seconds < 5:
        raise argparse.ArgumentTypeError("a budget is at least 5s")
    return seconds


def _count(least: int, most: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        if not text.isdigit() or not least <= int(text) <= most:
            raise argparse.ArgumentTypeError(f"'{text}' is not a number from {least} to {most}")
        return int(text)

    return parse


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """The command's own exit code for wrong command lines; argparse takes 2."""
        self.print_usage(sys.stderr)
        self.exit(1, f"{self.prog}: error: {message}\n")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="stratalog bench checkpoint",
        description="Saves and restarts the same relations with every checkpoint strategy, and "
        "draws the figures of the checkpoint papers: results.json, report.md, figures/*.png.",
    )
    add = parser.add_argument
    add(
        "-o",
        "--output",
        type=Path,
        default=Path("bench-checkpoint"),
        metavar="DIR",
        help="results, report and figures; one that holds results is refused (default "
        "bench-checkpoint)",
    )
    add(
        "--work",
        type=Path,
        metavar="DIR",
        help="where checkpoints are written: the file system "
        "that is measured (default: OUTPUT/work)",
    )
    add("--quick", action="store_true", help="small sizes, about a minute on two cores")
    add(
        "--budget",
        type=_seconds,
        metavar="TIME",
        help="measure no longer than this (default "
        "6m); what does not fit is left out, largest sizes first",
    )
    add("--ranks", type=_ranks, metavar="N,...", help="default 1,2,4")
    add(
        "--sizes",
        type=_sizes,
        metavar="SIZE,...",
        help="of the rows as 64-bit numbers, decimal units (default 1M,8M,64M,256M)",
    )
    add(
        "--skew",
        type=lambda t: _words(SKEWS, "skew", t),
        default=SKEWS,
        metavar="WORD,...",
        help=f"{', '.join(SKEWS)} (default: all)",
    )
    add(
        "--strategies",
        type=lambda t: _words(DEFAULT_STRATEGIES, "strategy", t),
        default=DEFAULT_STRATEGIES,
        metavar="NAME,...",
        help=f"{', '.join(DEFAULT_STRATEGIES)} (default: all; sections ladder and end-to-end have "
        "strategies of their own)",
    )
    add(
        "--only",
        type=lambda t: _words(SECTIONS, "section", t),
        default=SECTIONS,
        metavar="SECTION,...",
        help=f"{', '.join(SECTIONS)} (default: all); closure needs end-to-end",
    )
    add(
        "--saves",
        type=_count(2, 1000),
        metavar="N",
        help="checkpoints that each strategy writes in section learned (default 12; quick: 4)",
    )
    add(
        "--closures",
        type=lambda t: _words(CLOSURES, "closure", t),
        metavar="NAME,...",
        help="of the end-to-end runs: a generated road network, and graphs of the papers from "
        f"the data sets, of so many sources as fit the largest size: {', '.join(CLOSURES)} "
        "(default: all; quick: road)",
    )
    add(
        "--data-sets",
        type=Path,
        metavar="DIR",
        help="with data/graphs/NAME.tsv.xz (default: STRATALOG_SHARED, or ../shared)",
    )
    add("--repeats", type=_count(1, 100), metavar="N", help="medians of N (default 3; quick: 1)")
    add("--columns", type=_count(2, 8), default=2, metavar="N", help="of the rows (default 2)")
    add(
        "--texture",
        choices=("closure", "random"),
        default="closure",
        help="what synthetic tuples look like (default closure)",
    )
    add(
        "--durability",
        choices=("full", "data", "none"),
        default="full",
        help="what is fsynced, as in run (default full)",
    )
    add(
        "--seed",
        type=_count(0, 2**31),
        default=1,
        metavar="N",
        help="of synthetic tuples and the generated road network (default 1)",
    )
    add(
        "--facts",
        type=Path,
        metavar="DIR",
        help="end-to-end: the closure of the edge.facts there, instead of --closures",
    )
    add(
        "--redraw",
        type=Path,
        metavar="RESULTS.json",
        help="measure nothing; figures and report of an earlier run",
    )
    add(
        "--modelled",
        action="store_true",
        help="measure nothing; price the papers' checkpoints at 32 to 4096 ranks with the "
        "file-system model: model.json, report.md, figures/*.png",
    )
    add("-q", "--quiet", action="store_true", help="no progress on a terminal")
    return parser


def parse_options(words: list[str]) -> Options:
    """Ends the process with a message on a wrong command line (code 1)."""
    parser = _parser()
    given = parser.parse_args(words)
    quick = given.quick
    if given.facts is not None and not (given.facts / "edge.facts").is_file():
        parser.error(f"--facts: there is no edge.facts in {given.facts}")
    if given.redraw is not None and not given.redraw.is_file():
        parser.error(f"--redraw: {given.redraw} is no file")
    if given.modelled and given.redraw is not None:
        parser.error("--redraw draws measurements again, --modelled makes none; give one of them")
    sizes = given.sizes or (
        (1_000_000, 4_000_000, 16_000_000)
        if quick
        else (1_000_000, 8_000_000, 64_000_000, 256_000_000)
    )
    return Options(
        output=given.output,
        work=given.work or given.output / "work",
        ranks=given.ranks or ((1, 2) if quick else (1, 2, 4)),
        sizes=sizes,
        skews=given.skew,
        strategies=given.strategies,
        sections=given.only,
        repeats=given.repeats or (1 if quick else 3),
        budget=given.budget or (75.0 if quick else 360.0),
        columns=given.columns,
        texture=given.texture,
        durability=given.durability,
        seed=given.seed,
        saves=given.saves or (4 if quick else 12),
        grid=48 if quick else 80,
        closures=given.closures or (("road",) if quick else CLOSURES),
        data_sets=given.data_sets or Path(os.environ.get("STRATALOG_SHARED", "../shared")),
        facts=given.facts,
        redraw=given.redraw,
        is_modelled=given.modelled,
        is_quiet=given.quiet,
    )
