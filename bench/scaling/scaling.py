#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What runs send and how evenly their tuples lie on 64 to 16,384 ranks.

The engine itself runs, on up to 16,384 virtual ranks of one process, and every collective call is
counted (where all ranks hold a copy of much, or send to all others, it is more than one memory
holds, and the case ends at 1,024). At any number of ranks the planners say where the tuples of the
finished relations lie, and what may be sent at most. Takes 20 GB.
Beside each number stands the bound that the design promises. Times are modelled: what each call's
busiest rank sends or receives, priced with a network's parameters out of the file-system model.
Writes OUT.md, OUT.json and OUT.png. Build the target scaling_runs first.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(HERE.parent))

from peers import machine  # noqa: E402

# A pair travels as two cells in a run of tuples (8 bytes), or under its prefix, at worst alone: a
# header, the prefix and the cell, a word each (route/mail_format.h).
ALONE_BYTES = 24
PART_BYTES = 8  # flags or sizes, for each pair of ranks of which one has something for the other
# What all ranks hold is in one memory here: by pivot each has all edges (64 bytes of each); where
# every derivation is on another rank, each has outboxes for all.
MOST_RANKS_OF_MUCH = 1024
# Rows of a stratum times ranks up to which all ranks have all of them (evaluate/engine.h).
MIRROR_LIMIT = 32 << 20
# No rank is to hold more than this many times the mean of a rebalanced relation: 150 % and one
# sub-bucket of at most the mean (route/bucket_map.h).
SHARE_BOUND = 2.5

Edge = tuple[int, int]


def rings(sizes: list[int], seed: int) -> Iterator[Edge]:
    """Rings whose nodes also reach two others of the next twelve."""
    draw = random.Random(seed)
    first = 0
    for n in sizes:
        for x in range(n):
            steps = {1, *draw.sample(range(2, 13), 2)}
            yield from ((first + x, first + (x + d) % n) for d in sorted(steps))
        first += n


def tree(fans: list[list[int]]) -> Iterator[Edge]:
    """Level by level: how many children the nodes of a level have, in turns."""
    level, following = [0], 1
    for fan in fans:
        children: list[int] = []
        for at, parent in enumerate(level):
            for _ in range(fan[at % len(fan)]):
                yield parent, following
                children.append(following)
                following += 1
        level = children


def hub(n: int, seed: int) -> Iterator[Edge]:
    """All paths from n sources to n sinks lead through one node."""
    draw = random.Random(seed)
    yield from ((x, 0) for x in range(1, n + 1))
    yield from ((0, x) for x in range(n + 1, 2 * n + 1))
    yield from ((x, draw.randrange(1, n + 1)) for x in range(1, n + 1))


@dataclass
class Case:
    name: str
    program: str
    edges: list[Edge]
    about: str
    most_ranks: int = 16384  # that one memory holds


def cases() -> list[Case]:
    power = [3000 // k + 13 for k in range(1, 400)]
    return [
        Case(
            "closure, balanced",
            "closure",
            list(rings([100] * 400, 1)),
            "by pivot; 400 rings of 100 nodes",
            most_ranks=MOST_RANKS_OF_MUCH,
        ),
        Case(
            "closure, skewed",
            "closure",
            list(rings(power, 1)),
            "by pivot; rings of 3,013, 1,513, 1,013, ... nodes",
            most_ranks=MOST_RANKS_OF_MUCH,
        ),
        Case(
            "closure, small",
            "closure",
            list(rings([100] * 30, 1)),
            "by pivot; 30 rings of 100 nodes, so that 16,384 copies of the edges fit one memory",
        ),
        Case(
            "same generation, balanced",
            "same_generation",
            list(tree([[11], [11], [11]])),
            "by rounds; a tree in which every node has 11 children",
        ),
        Case(
            "same generation, skewed",
            "same_generation",
            list(tree([[30], [1, 1, 1, 1, 1, 300], [1]])),
            "by rounds; a tree in which every sixth node has 300 children and the others one",
        ),
        Case(
            "doubling, balanced",
            "two_hops",
            list(rings([600], 1)),
            "by rounds, nonlinear; a ring of 600 nodes",
            most_ranks=MOST_RANKS_OF_MUCH,
        ),
        Case(
            "doubling, skewed",
            "two_hops",
            list(hub(600, 1)),
            "by rounds, nonlinear; 600 sources, one hub, 600 sinks",
        ),
    ]


# Calls that carry tuples; the others carry a few numbers.
CARRYING = ("exchange", "allgather")


@dataclass
class Network:
    """Per rank; see machines.json of the file-system model for where the numbers are from."""

    message_seconds: float
    bytes_per_second: float

    def seconds(self, calls: dict[str, dict[str, int]], ranks: int) -> float:
        steps = math.ceil(math.log2(ranks)) if ranks > 1 else 0
        total = 0.0
        for name, sums in calls.items():
            moved = sums["slowest_bytes"] / self.bytes_per_second
            if name == "exchange":
                # One message a partner, and a reduction that says that all have been received
                # (comm/mpi_parcels.h).
                messages = sums["partners"] + 2 * steps * sums["calls"]
                total += messages * self.message_seconds + moved
            else:
                total += 2 * steps * sums["calls"] * self.message_seconds + moved
        return total


def network(name: str) -> Network:
    machines = json.loads((ROOT / "python" / "stratalog_bench" / "machines.json").read_text())
    return Network(machines[name]["message_seconds"][0], machines[name]["exchange_rate"][0])


class Bench:
    def __init__(self, args: argparse.Namespace) -> None:
        self.args = args
        self.network = network(args.network)
        self.commands: list[str] = []

    def call(self, way: str, ranks: int, case: Case, folder: Path, dealt: bool) -> dict[str, Any]:
        command = [str(self.args.build / "scaling_runs"), way, str(ranks)]
        command += [str(HERE / f"{case.program}.dl"), str(folder)]
        if dealt:
            command.append("--dealt")
        shown = " ".join(
            [Path(command[0]).name, way, str(ranks), f"bench/scaling/{case.program}.dl"]
        )
        self.commands.append(f"{shown} {folder.name}{' --dealt' if dealt else ''}")
        print(
            f"scaling: {case.name}, {way} {ranks} ranks{', dealt' if dealt else ''}",
            file=sys.stderr,
        )
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise SystemExit(f"{self.commands[-1]}: {done.stderr.strip()}")
        result: dict[str, Any] = json.loads(done.stdout)
        return result

    def run(self, case: Case) -> dict[str, Any]:
        folder = self.args.scratch / case.name.replace(", ", "-").replace(" ", "-")
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "edge.facts").write_text("".join(f"{x}\t{y}\n" for x, y in case.edges))
        plans = {n: self.call("plan", n, case, folder, False) for n in self.args.plan}
        first = next(iter(plans.values()))
        (name, relation), *_ = first["relations"].items()
        result: dict[str, Any] = {
            "about": case.about,
            "relation": name,
            "tuples": relation["tuples"],
            "static_rows": first["static_rows"],
            "derivations": first["derivations"],
            "is_pivot": "pivot_column" in relation,
            "planned": {n: p["relations"][name] for n, p in plans.items()},
            "simulated": [],
        }
        for ranks in self.args.simulate:
            if ranks > case.most_ranks:
                continue
            for dealt in (False, True):
                if dealt and result["is_pivot"]:
                    continue  # the same but for the copies of the edges; then it goes by rounds
                run = self.call("simulate", ranks, case, folder, dealt)
                result["simulated"].append(self.judge(run, result, dealt))
        for ranks, plan in result["planned"].items():
            below = [run for run in result["simulated"] if run["ranks"] <= ranks]
            run = (below or result["simulated"])[-1]
            # Further ranks may lead to one rebalancing more.
            more = 0 if result["is_pivot"] or ranks == run["ranks"] else 1
            plan["most_sent_bytes"] = self.bound(
                result, run["rounds"], run["rebalances"] + more, ranks
            )
        return result

    def judge(self, run: dict[str, Any], result: dict[str, Any], dealt: bool) -> dict[str, Any]:
        stratum = next(s for s in run["strata"] if s["relations"] == result["relation"])
        ranks = run["ranks"]
        assert stratum["tuples"] == result["tuples"], "the ranks found something else"
        calls = run["calls"]
        return {
            "ranks": ranks,
            "dealt": dealt,
            "rounds": stratum["iterations"],
            "sent_bytes": sum(calls[name]["sent_bytes"] for name in CARRYING if name in calls),
            "rebalances": stratum["rebalances"],
            "bound_bytes": self.bound(result, stratum["iterations"], stratum["rebalances"], ranks),
            "slowest_bytes": sum(
                calls[name]["slowest_bytes"] for name in CARRYING if name in calls
            ),
            "partners": calls["exchange"]["partners"],
            "collectives": sum(c["calls"] for c in calls.values()),
            "share_of_mean": stratum.get("share_of_mean"),
            "share_bound": self.share_bound(result, ranks),
            "network_seconds": self.network.seconds(calls, ranks),
        }

    @staticmethod
    def bound(result: dict[str, Any], rounds: int, rebalances: int, ranks: int) -> int:
        """Bytes that the design allows all ranks to send together.

        Facts go to their owners, to one more placement at most, and at most one copy of them to
        each rank. A stratum by pivot then sends nothing, where its seeds are rows of those copies
        (here they are). By rounds each derivation goes to the home of its tuple at most once, and
        each new tuple to one more shard for each further column by which it is searched (here:
        one), or to all ranks while there are few; a rebalanced relation moves whole. Who has
        nothing for a rank sends it nothing, but where all ranks gather something, each tells all
        others how much it has.
        """
        travelling = result["static_rows"] * (2 + ranks)
        exchanges = gathers = 4
        if not result["is_pivot"]:
            travelling += result["derivations"] + result["tuples"]
            travelling += min(result["tuples"], MIRROR_LIMIT // ranks) * ranks
            travelling += rebalances * 2 * result["tuples"]
            exchanges += 3 * rounds
            gathers += rounds + 2 * rebalances
        parts = min(exchanges * ranks * ranks, travelling)
        told = gathers * ranks * ranks
        return travelling * ALONE_BYTES + (parts + told) * PART_BYTES

    @staticmethod
    def share_bound(result: dict[str, Any], ranks: int) -> float | None:
        """Of the mean. By pivot there is one for blocks, none for what is in them."""
        if not result["is_pivot"]:
            return SHARE_BOUND
        return None


def megabytes(n: float) -> str:
    return f"{n / 1e6:,.1f}"


def report(results: dict[str, dict[str, Any]], bench: Bench) -> str:
    about = machine()
    lines = [
        "# What runs send, and how evenly tuples lie, on many ranks",
        "",
        f"Machine: {about['cpu']}, {about['cores']} cores; {about['date']}. Up to "
        f"{max(bench.args.simulate):,} ranks the engine ran, on virtual ranks of one process; "
        "**bytes, messages, shares and rounds are counted, not modelled**. At any number the "
        "planners say where finished tuples lie. Seconds of network are **modelled** "
        f"({bench.args.network}: {bench.network.message_seconds * 1e6:g} µs a message, "
        f"{bench.network.bytes_per_second / 1e9:g} GB/s a rank).",
        "",
        "*dealt*: nothing is copied to all ranks, as if relations were too large for it. *Bound*: "
        "what the design allows (`Bench.bound`); *of bound*: how much of it was used. What all "
        "ranks gather counts as if each passed on what it gets. *Busiest rank*: of each exchange "
        "the most that a rank sends or receives, summed. *Share*: rows on the fullest rank, of "
        "the mean.",
        "",
    ]
    for name, result in results.items():
        lines += [
            f"## {name[0].upper()}{name[1:]}",
            "",
            f"{result['about']}. {result['tuples']:,} tuples, {result['derivations']:,} "
            f"derivations from {result['static_rows']:,} edges.",
            "",
            "| ranks | way | rounds | MB sent | bound | of bound | MB of the busiest rank | "
            "messages of the busiest | collectives | share | rebalanced | network s |",
            "|--:|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|",
        ]
        for run in result["simulated"]:
            share = run["share_of_mean"]
            way = "by pivot" if result["is_pivot"] else "dealt" if run["dealt"] else "as it comes"
            lines.append(
                f"| {run['ranks']:,} | {way} | {run['rounds']} | {megabytes(run['sent_bytes'])} | "
                f"{megabytes(run['bound_bytes'])} | {run['sent_bytes'] / run['bound_bytes']:.0%} | "
                f"{megabytes(run['slowest_bytes'])} | {run['partners']:,} | {run['collectives']} | "
                f"{'-' if share is None else f'{share:.2f}'} | {run['rebalances']} | "
                f"{run['network_seconds']:.4f} |"
            )
        lines += ["", *planned_table(result), ""]
    lines += ["## Commands", "", "```", *bench.commands, "```", ""]
    return "\n".join(lines)


def planned_table(result: dict[str, Any]) -> list[str]:
    if result["is_pivot"]:
        lines = [
            "| ranks (planned) | lanes a block | blocks | ranks with work | share | "
            "MB sent at most |",
            "|--:|--:|--:|--:|--:|--:|",
        ]
        for ranks, plan in result["planned"].items():
            lines.append(
                f"| {int(ranks):,} | {plan['lanes_per_block']} | {plan['blocks']:,} | "
                f"{min(int(ranks), plan['blocks']):,} | {plan['share_of_mean']:.2f} | "
                f"{megabytes(plan['most_sent_bytes'])} |"
            )
        return lines
    lines = [
        "| ranks (planned) | tuples a rank | share, whole buckets | share, rebalanced | bound | "
        "MB sent at most |",
        "|--:|--:|--:|--:|--:|--:|",
    ]
    for ranks, plan in result["planned"].items():
        lines.append(
            f"| {int(ranks):,} | {plan['tuples'] / int(ranks):,.0f} | "
            f"{plan['share_of_mean_whole']:.2f} | {plan['share_of_mean']:.2f} | {SHARE_BOUND} | "
            f"{megabytes(plan['most_sent_bytes'])} |"
        )
    return lines


def draw(results: dict[str, dict[str, Any]], out: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, (left, right) = pyplot.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
    for name, result in results.items():
        runs = [r for r in result["simulated"] if r["dealt"] or result["is_pivot"]]
        ranks = [r["ranks"] for r in runs]
        line = left.plot(ranks, [r["slowest_bytes"] / 1e6 for r in runs], "o-", label=name)[0]
        color = line.get_color()
        planned = [(int(n), p["share_of_mean"]) for n, p in result["planned"].items()]
        right.plot(*zip(*planned, strict=True), "s--", color=color, fillstyle="none")
        shares = [(r["ranks"], r["share_of_mean"]) for r in runs if r["share_of_mean"]]
        if shares:
            right.plot(*zip(*shares, strict=True), "o-", color=color)
    right.axhline(SHARE_BOUND, color="grey", linewidth=0.8)
    right.text(64, SHARE_BOUND * 1.05, "bound of rebalanced relations", fontsize=8, color="grey")
    left.set(title="Bytes of the busiest rank, all exchanges", ylabel="MB", yscale="log")
    right.set(
        title="Rows on the fullest rank (dashed: planned)", ylabel="of the mean", yscale="log"
    )
    for axes in (left, right):
        axes.set_xscale("log", base=2)
        axes.set_xlabel("ranks")
    figure.legend(
        *left.get_legend_handles_labels(), loc="outside lower center", ncols=3, fontsize=8
    )
    figure.savefig(out, dpi=120)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=Path, default=ROOT / "build")
    parser.add_argument("--simulate", type=int, nargs="+", default=[64, 256, 1024, 4096, 16384])
    parser.add_argument("--plan", type=int, nargs="+", default=[64, 1024, 16384])
    parser.add_argument("--network", default="perlmutter", help="of machines.json")
    parser.add_argument("--only", default="", help="cases whose names contain this")
    parser.add_argument("--scratch", type=Path, default=ROOT / "build" / "scaling")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "scaling" / "scaling")
    args = parser.parse_args()
    bench = Bench(args)
    results = {c.name: bench.run(c) for c in cases() if args.only in c.name}
    args.out.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps({"machine": machine(), "network": args.network, "cases": results}, indent=1)
    Path(f"{args.out}.json").write_text(text + "\n")
    Path(f"{args.out}.md").write_text(report(results, bench))
    draw(results, Path(f"{args.out}.png"))
    print(f"{args.out}.md")
    return 0


if __name__ == "__main__":
    sys.exit(main())
