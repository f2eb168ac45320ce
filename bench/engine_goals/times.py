# SPDX-License-Identifier: Apache-2.0
"""Points 2, 4 and 5: memory and times of large closures, two ranks against one."""

from __future__ import annotations

from goals.setting import CannotRunError, Setting
from goals.verdicts import Row, judge, least, most, not_run

from engine_goals.inputs import NOTHING, Times, case_of, run_in_turns

# Seconds on two ranks.
LIMITS = {
    "tc fe_ocean": 12.0,
    "tc usroads": 15.0,
    "tc p2p-Gnutella31": 6.0,
    "tc clap-cfg": 30.0,
    "tc crdt-tree": 20.0,
}
MOST_GIB, MOST_BYTES_A_TUPLE = 4.0, 2.0
# What takes more than a tenth of a second on one thread.
LARGE = (
    *LIMITS,
    "tc SF.cedge",
    "tc fe_body",
    "sg cti",
    "sg fe_ocean",
    "galen_el",
    "galen_pq",
    "javapt 260",
    "cspa povray",
)
EFFICIENCY = 0.8
LATENCY_BOUND = ("tc chain4000", "tc crdt-tree")
QUICK = ("tc fe_body", "cspa povray")
# A command beside itself.
TWICE = ["bash", "-c", '"$@" > /dev/null & "$@" && wait $!', "twice"]
Measured = dict[str, dict[str, Times]]


def measure_threads(setting: Setting) -> Measured:
    """On one thread, on two, and two runs that have nothing to do with each other at once."""
    ways: dict[str, tuple[list[str], list[str]]] = {
        "1": ([], ["-j", "1"]),
        "2": ([], ["-j", "2"]),
        "1 beside 1": (TWICE, ["-j", "1"]),
    }
    names, repeats = (QUICK, 3) if setting.is_quick else (LARGE, 7)
    return {name: run_in_turns(case_of(name), ways, repeats, setting) for name in names}


def measure_latency(setting: Setting) -> tuple[dict[str, float], str]:
    """Two ranks over one, threads and processes, of inputs with many small rounds. Of processes
    without what the launcher takes for a program with one fact, which stands in the note."""
    mpi = [setting.mpiexec, "-n"]
    processes = {"1 process": ([*mpi, "1"], []), "2 processes": ([*mpi, "2"], [])}
    threads = {"1 thread": ([], ["-j", "1"]), "2 threads": ([], ["-j", "2"])}
    repeats = 3 if setting.is_quick else 15
    ratios: dict[str, float] = {}
    nothing = run_in_turns(NOTHING, processes, repeats, setting)
    launches = (f"{nothing[way].median:.3f}" for way in processes)
    notes = [f"launching (a program with one fact) {' and '.join(launches)} s"]
    for name in LATENCY_BOUND[: 1 if setting.is_quick else None]:
        times = run_in_turns(case_of(name), threads | processes, repeats, setting)
        ratios |= judge_latency(name, times, nothing)
        one, two = (f"{times[way].median:.3f}" for way in processes)
        notes.append(f"{name} as 1 and 2 processes {one} and {two} s")
    return ratios, ", ".join(notes)


def judge_latency(
    name: str, times: dict[str, Times], nothing: dict[str, Times]
) -> dict[str, float]:
    one, two = (times[way].median - nothing[way].median for way in ("1 process", "2 processes"))
    return {
        f"{name}, 2 threads": times["2 threads"].median / times["1 thread"].median,
        f"{name}, 2 processes": two / one if one > 0 else float("nan"),
    }


def judge_times(measured: Measured) -> list[Row]:
    rows = []
    for letter, (name, limit) in zip("abcde", LIMITS.items(), strict=True):
        what = f"{name} on two threads"
        found = {name: measured[name]["2"].median} if name in measured else {}
        rows.append(judge(f"4{letter}", what, most(limit, " s"), found))
    name = "tc fe_ocean"
    peak = {name: measured[name]["2"].peak_kib / (1 << 20)} if name in measured else {}
    rows.append(judge("4f", f"{name}: memory in all", most(MOST_GIB, " GiB"), peak))
    return rows


def judge_memory(measured: Measured) -> Row:
    bytes_a_tuple = {
        name: times["2"].peak_kib * 1024 / next(iter(case_of(name).sizes.values()))
        for name, times in measured.items()
        if name in LIMITS or name in QUICK[:1]
    }
    return judge(
        "2a", "memory of closures, bytes a tuple", most(MOST_BYTES_A_TUPLE, " B"), bytes_a_tuple
    )


def judge_efficiency(measured: Measured) -> Row:
    efficiency = {
        name: times["1"].median / times["2"].median / 2 for name, times in measured.items()
    }
    seconds = ", ".join(f"{name} {times['1'].median:.2f}" for name, times in measured.items())
    # What the machine, and its neighbours on the host, leave to two cores at work.
    apart = ", ".join(
        f"{name} {times['1'].median / times['1 beside 1'].median:.2f}"
        for name, times in measured.items()
    )
    note = f"seconds on one: {seconds}; what two unrelated runs at once leave each other: {apart}"
    what = "time on one thread, over twice that on two"
    return judge("5a", what, least(EFFICIENCY), efficiency, note=note if efficiency else "")


def all_rows(setting: Setting) -> list[Row]:
    measured = measure_threads(setting)
    rows = [judge_memory(measured), *judge_times(measured), judge_efficiency(measured)]
    what = "latency-bound inputs: two ranks, over one (processes: without launching them)"
    try:
        ratios, note = measure_latency(setting)
        rows.append(judge("5b", what, most(1.0, "×"), ratios, note=note))
    except CannotRunError as why:
        rows.append(not_run("5b", what, str(why)))
    return rows
