# SPDX-License-Identifier: Apache-2.0
"""The cases that goals name beside those of bench/peers.py, and how they are run."""

from __future__ import annotations

import statistics
from dataclasses import dataclass, field

import peers
import turns
from goals.setting import CannotRunError, Setting
from peers import Case, closure
from turns import Way

FE_OCEAN = closure("fe_ocean", 1_669_750_513)
CLAP_CFG = closure("clap-cfg", 1_553_506_598)
CRDT_TREE = closure("crdt-tree", 392_929_401)
NOTHING = Case("one fact", "", "", {"fact": 1})  # without files
LONG_REPEATS = 3
SG_FE_OCEAN = Case("sg fe_ocean", "sg", "graph:fe_ocean", {"sg": 65_941_441})


def case_of(name: str) -> Case:
    cases = [*peers.CLOSURES, *peers.OTHERS, FE_OCEAN, CLAP_CFG, CRDT_TREE, SG_FE_OCEAN]
    return next(case for case in cases if case.name == name)


@dataclass
class Times:
    """Of one command, whole processes."""

    seconds: list[float] = field(default_factory=list)
    peak_kib: int = 0

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)


def _words(case: Case, setting: Setting) -> list[str]:
    if case is NOTHING:
        program = setting.scratch / "nothing.dl"
        program.write_text(".decl fact(x: number)\nfact(1).\n.printsize fact\n")
        return [str(program)]
    facts = peers.unpack(case.facts, setting.scratch)
    return [str(peers.program_of(case)), "-F", str(facts)]


def run_in_turns(
    case: Case, ways: dict[str, tuple[list[str], list[str]]], repeats: int, setting: Setting
) -> dict[str, Times]:
    """`ways`: words before and after the command. CannotRunError where an answer is wrong."""
    if not setting.shared.exists():
        raise CannotRunError(f"there are no data sets at {setting.neutral(str(setting.shared))}")
    base = [setting.stratalog, "run", *_words(case, setting), "-q"]
    commands = {
        name: Way([*before, *base, *after], case.sizes) for name, (before, after) in ways.items()
    }
    setting.commands += [setting.neutral(" ".join(way.command)) for way in commands.values()]
    outcomes = turns.run_in_turns(commands, repeats, min(repeats, LONG_REPEATS))
    for name, outcome in outcomes.items():
        if not outcome.correct:
            raise CannotRunError(f"{case.name}, {name}: {outcome.why or 'a wrong answer'}")
    return {name: Times(outcome.runs, outcome.peak_kib) for name, outcome in outcomes.items()}
