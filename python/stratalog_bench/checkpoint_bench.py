# SPDX-License-Identifier: Apache-2.0
"""`stratalog bench checkpoint`: runs the plan within its budget and writes what came out."""

from __future__ import annotations

import contextlib
import datetime
import shutil
import signal
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from stratalog_bench import closure, machine, serial_peers
from stratalog_bench.modelled_report import model_papers
from stratalog_bench.options import Options, parse_options
from stratalog_bench.plan import SHARES, Task, chosen, make_plan, unmeasurable, worker_spec
from stratalog_bench.processes import BenchError, Event, Programs, find_stratalog, run_worker
from stratalog_bench.progress import Progress
from stratalog_bench.quantities import ranks_text
from stratalog_bench.report import write_report
from stratalog_bench.results import Results, rounded
from stratalog_bench.strategies import BY_NAME, RUN_WAYS, SERIAL

# Seconds of one number of ranks that reads what others wrote.
MOST_OF_READERS = 90.0
SAVE_EVERY = 5.0  # seconds
# Lines on the terminal about what was not measured; choices that leave nothing come first.
MOST_COMPLAINTS = 10
STOPPED = 6  # as the command's own code for a run that was stopped by a signal
HELP = "stratalog bench checkpoint [OPTIONS]: checkpoint strategies side by side (--help)"


class Budget:
    """Deals the time that is left to the sections that are left."""

    def __init__(self, seconds: float, sections: list[str]) -> None:
        self._end = time.monotonic() + seconds
        self._sections = sections

    def left(self) -> float:
        return self._end - time.monotonic()

    def open(self, section: str) -> float:
        """The time at which the section has to end; the sections before it are over."""
        rest = self._sections[self._sections.index(section) :]
        share = SHARES[section] / sum(SHARES[one] for one in rest)
        return time.monotonic() + max(0.0, self.left()) * share


class Bench:
    def __init__(self, options: Options, programs: Programs, results: Results) -> None:
        self._options = options
        self._programs = programs
        self._results = results
        self._progress = Progress(options.budget, options.is_quiet)
        self._start = time.monotonic()
        self._saved = self._start
        self._kept: Path | None = None  # a checkpoint of a real closure

    def run(self) -> None:
        options = self._options
        (options.work / "cases").mkdir(parents=True, exist_ok=True)
        free_disk = int(shutil.disk_usage(options.work).free * 0.9)
        plan = make_plan(options, free_disk, machine.memory_bytes())
        self._results.left_out += plan.left_out
        impossible = unmeasurable(options)
        sections = [one for one in SHARES if one in options.sections and one not in impossible]
        budget = Budget(options.budget, sections)
        for section in sections:
            end = budget.open(section)
            if section == "end-to-end":
                self._end_to_end(end)
            elif section == "closure":
                self._closure(end)
            else:
                tasks = [task for task in plan.tasks if task.section == section]
                self._run_tasks(tasks, end)
            self._save()
        failed = any(event["event"] == "failed" for event in self._results.events)
        self._results.complete = not self._results.left_out and not failed
        self._save()

    def close(self) -> None:
        self._progress.close()
        for folder in ("cases", "closure"):
            shutil.rmtree(self._options.work / folder, ignore_errors=True)
        _remove_if_empty(self._options.work)
        self._save()

    def _save(self) -> None:
        self._saved = time.monotonic()
        self._results.seconds = round(self._saved - self._start, 1)
        self._results.save(self._options.output / "results.json")

    def _take(self, section: str, events: Iterator[Event], **more: Any) -> bool:
        """Keeps the events; False if time ran out on the way."""
        durability = {"durability": self._options.durability}
        in_time = True
        for event in events:
            level = durability if event["event"] in ("save", "restart", "run") else {}
            kept = rounded({"section": section, **level, **event, **more})
            if event["event"] == "out_of_time":
                in_time = False
                what = f"from {event['data']}, repeat {event['repeat'] + 1} on"
                self._leave_out(section, f"{ranks_text(event['ranks'])}, {what}")
                continue
            self._results.events.append(kept)
            self._progress.event(kept)
            if time.monotonic() > self._saved + SAVE_EVERY:
                self._save()
        return in_time

    def _leave_out(self, section: str, what: str) -> None:
        self._results.left_out.append(f"{section}: {what} (budget)")

    def _run_tasks(self, tasks: list[Task], end: float) -> None:
        """Everything once, and only then the repeats: rather all points than good medians."""
        rounds = [(task, 0, 1) for task in tasks]
        rounds += [
            (replace(task, keep=False), 1, task.repeats - 1) for task in tasks if task.repeats > 1
        ]
        for index, (task, first, repeats) in enumerate(rounds):
            # The first round may take all of it.
            alike = len(tasks) - index if first == 0 else len(rounds) - index
            left = (end - time.monotonic()) / alike
            self._progress.section(f"{task.section}, {ranks_text(task.ranks)}:")
            self._run_task(replace(task, repeats=repeats), first, left)

    def _run_task(self, task: Task, first: int, seconds: float) -> None:
        """Size after size, each in a worker of its own, as long as they are likely to fit."""
        options = self._options
        start = time.monotonic()
        took: list[tuple[int, float]] = []
        for data in task.data:
            left = seconds - (time.monotonic() - start)
            expected = _expected(took, data["bytes"])
            if left < 0.5 or expected > left:
                what = f"{data['name']}, from repeat {first + 1} on"
                self._leave_out(task.section, f"{ranks_text(task.ranks)}, {what}")
                continue
            began = time.monotonic()
            if task.cases:
                one = replace(task, data=(data,))
                spec = worker_spec(one, options, max(left, 2 * expected, 5), earlier_repeats=first)
                events = run_worker(self._programs, task.ranks, spec)
                self._take(task.section, _later(events, first), skew=data["skew"])
            if task.serial:
                serial = serial_peers.measure(
                    task.serial,
                    data["bytes"],
                    options.columns,
                    task.repeats,
                    options.work / "cases",
                )
                self._take(
                    task.section, _later(serial, first), skew=data["skew"], data=data["name"]
                )
            took.append((data["bytes"], time.monotonic() - began))
        for readers in task.readers if task.keep else ():
            self._restart_elsewhere(task, readers)
        shutil.rmtree(options.work / "cases", ignore_errors=True)
        (options.work / "cases").mkdir()
        self._save()

    def _restart_elsewhere(self, task: Task, readers: int) -> None:
        """From what `task` kept, on the same or another number of ranks; all repeats at once."""
        options = self._options
        folder = (options.work / "cases").resolve()
        cases = [
            BY_NAME[name].case(options.durability, stored=str(folder / name))
            for name in task.cases
            if (folder / name).is_dir()
        ]
        if not cases:
            return
        nothing = {"name": task.data[-1]["name"], "bytes": 0, "columns": options.columns}
        spec = worker_spec(replace(task, repeats=options.repeats), options, MOST_OF_READERS)
        spec |= {
            "cases": cases,
            "data": [nothing],
            "restarts": ["as-written"],
            "directory": str(folder / "readers"),
        }
        events = (
            event | {"row_bytes": event.get("rows", 0) * 8 * options.columns}
            for event in run_worker(self._programs, readers, spec)
            if event["event"] != "data"
        )
        self._take(task.section, events, writers=task.ranks)

    def _end_to_end(self, end: float) -> None:
        options = self._options
        work = options.work / "closure"
        work.mkdir(parents=True, exist_ok=True)
        names = options.closures if options.facts is None else ("facts",)
        for at, name in enumerate(names):
            share = (end - time.monotonic()) / (len(names) - at)
            try:
                one = (
                    closure.prepare(name, options, work)
                    if options.facts is None
                    else closure.Closure(name, options.facts)
                )
            except closure.MissingGraphError as reason:
                self._results.left_out.append(f"end-to-end: {reason}")
                continue
            self._run_closure(one, work, time.monotonic() + share)

    def _run_closure(self, one: closure.Closure, work: Path, end: float) -> None:
        """Without checkpoints and in every way, most ranks first; all once before any again."""
        options = self._options
        self._progress.section(f"end-to-end, {one.name}:")
        first = closure.run_once(
            self._programs, max(options.ranks), None, 0, options.durability, work, one
        )
        if first["event"] == "failed":
            self._take("end-to-end", iter([first]))
            return
        every = max(2, first["iterations"] // 4)
        rounds = [(ranks, 0, 1) for ranks in reversed(options.ranks)]
        rounds += [
            (ranks, 1, options.repeats - 1)
            for ranks in reversed(options.ranks)
            if options.repeats > 1
        ]
        for ranks, earlier, repeats in rounds:
            what = f"{one.name}, {ranks_text(ranks)}"
            if time.monotonic() > end:
                self._leave_out("end-to-end", f"{what}, from repeat {earlier + 1} on")
                continue
            keep = "fpp" if self._kept is None else ""
            runs = closure.compare_ways(
                self._programs,
                ranks,
                RUN_WAYS,
                repeats,
                every,
                options.durability,
                work,
                one,
                keep,
            )
            self._progress.section(f"end-to-end, {what}:")
            for event in _later(runs, earlier):
                self._take("end-to-end", iter([event]))
                if time.monotonic() > end:
                    self._leave_out("end-to-end", f"{what}, after {event['case']}")
                    break
            if keep and (work / keep).is_dir():
                self._kept = (work / keep).rename(work / "kept")

    def _closure(self, end: float) -> None:
        """The relations of a real run, saved by every strategy."""
        options = self._options
        if self._kept is None:
            self._results.left_out.append("closure: the end-to-end runs left no checkpoint")
            return
        fixed = chosen(options, "closure")
        data = {"name": "closure", "checkpoint": str(self._kept.resolve())}
        for ranks in reversed(options.ranks):
            left = end - time.monotonic()
            if left < 1:
                self._leave_out("closure", ranks_text(ranks))
                continue
            self._progress.section(f"closure, {ranks_text(ranks)}:")
            task = Task("closure", ranks, fixed, (data,), options.repeats, ("as-written",))
            events = run_worker(self._programs, ranks, worker_spec(task, options, left))
            self._take("closure", events, skew="as dealt")


def _expected(took: list[tuple[int, float]], size: int) -> float:
    """Seconds that a size should take, on the line through the two before; 0: no idea."""
    if len(took) < 2:
        return took[0][1] if took and took[0][0] >= size else 0.0
    (one, first), (other, second) = took[-2:]
    slope = max(0.0, (second - first) / (other - one)) if other != one else 0.0
    return max(0.0, second + slope * (size - other))


def _later(events: Iterator[Event], first: int) -> Iterator[Event]:
    """Events of a later round of repeats."""
    for event in events:
        yield event | {"repeat": event.get("repeat", 0) + first}


def _remove_if_empty(folder: Path) -> None:
    with contextlib.suppress(OSError):
        folder.rmdir()  # unless it holds something that is not ours


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt


def _option_values(options: Options) -> dict[str, Any]:
    return {
        name: str(value) if isinstance(value, Path) else value
        for name, value in options.__dict__.items()
        if name not in ("redraw", "is_modelled", "is_quiet")
    }


def _measure(options: Options, words: list[str]) -> tuple[Results, int]:
    programs = Programs.find()
    options.output.mkdir(parents=True, exist_ok=True)
    if (options.output / "results.json").exists():
        raise BenchError(
            f"there are results in {options.output}; name another folder with --output, "
            "or draw them again with --redraw"
        )
    options.work.mkdir(parents=True, exist_ok=True)
    results = Results(
        machine=machine.describe(options.work, programs.stratalog),
        options=_option_values(options),
        command=["stratalog", "bench", "checkpoint", *words],
        started=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        left_out=[f"{section}: {why}" for section, why in unmeasurable(options).items()],
    )
    if complaint := programs.launcher_complaint(results.machine["stratalog"]):
        # Without results.json, so that the folder can be given again.
        results.left_out.append(f"everything: {complaint}")
        _remove_if_empty(options.work)
        return results, 1
    bench = Bench(options, programs, results)
    old = signal.signal(signal.SIGTERM, _interrupt)
    code = 0
    try:
        bench.run()
    except KeyboardInterrupt:
        results.left_out.append("everything after the interruption")
        code = STOPPED
    finally:
        bench.close()
        signal.signal(signal.SIGTERM, old)
    return results, code


def _has_measured(results: Results) -> bool:
    """Whether there is a number of more than the Python process that stands beside the ranks."""
    serial = {one.name for one in SERIAL}
    measured = [e for e in results.events if e["event"] in ("save", "restart", "run")]
    failed = any(event["event"] == "failed" for event in results.events)
    return any(not failed or event["case"] not in serial for event in measured)


def _complain(results: Results, report: Path) -> None:
    """On standard error: failures by name; of the rest that is missing, where it stands."""
    complaints = [
        f"{event.get('section', '')} {event.get('case', '')}".strip() + f": {event['message']}"
        for event in results.events
        if event["event"] == "failed"
    ]
    left_out = list(dict.fromkeys(results.left_out))
    complaints += [f"not measured: {text}" for text in left_out[:MOST_COMPLAINTS]]
    if len(left_out) > MOST_COMPLAINTS:
        complaints.append(f"not measured: {len(left_out) - MOST_COMPLAINTS} more, see {report}")
    for complaint in dict.fromkeys(complaints):
        sys.stderr.write(f"stratalog bench: {complaint}\n")


def _checkpoint(words: list[str]) -> int:
    options = parse_options(words)
    if options.is_modelled:
        print(model_papers(find_stratalog(), options.output))
        return 0
    if options.redraw is not None:
        results, code = Results.load(options.redraw), 0
        options.output.mkdir(parents=True, exist_ok=True)
    else:
        reasons = unmeasurable(options)
        if set(options.sections) <= set(reasons):
            raise BenchError("; ".join(f"{name}: {why}" for name, why in reasons.items()))
        results, code = _measure(options, words)
    report = write_report(results, options.output)
    _complain(results, report)
    if code != STOPPED and options.redraw is None and not _has_measured(results):
        raise BenchError(f"nothing could be measured; {report} says why")
    print(report)
    return code


def main(words: list[str]) -> int:
    if not words or words[0] != "checkpoint":
        if words and words[0] in ("-h", "--help"):
            print(HELP)
            return 0
        if words:
            sys.stderr.write(f"stratalog bench: there is no bench '{words[0]}'\n")
        sys.stderr.write(f"{HELP}\n")
        return 1
    try:
        return _checkpoint(words[1:])
    except (BenchError, OSError) as problem:
        sys.stderr.write(f"stratalog bench: {problem}\n")
        return 1
