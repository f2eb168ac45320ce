#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The main job, for people to watch: run, die half-way, go on with other ranks, look at the answer.

The program joins pairs of stations of the western US power grid (4,941 stations, in tests/data with
its licence). Every station turns out to be of the same generation as every other and as itself, so
the answer is known in closed form: 4,941 squared.
"""

from __future__ import annotations

import json
import lzma
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
BUILD = Path(os.environ.get("STRATALOG_BUILD", ROOT / "build"))
STRATALOG = os.environ.get("STRATALOG", str(BUILD / "stratalog"))
FOLDER = BUILD / "demo"
PROGRAM = HERE / "power_grid.dl"
ANSWER = 4941**2


def say(text: str) -> None:
    bold, plain = ("\033[1m", "\033[0m") if sys.stdout.isatty() else ("", "")
    print(f"\n{bold}== {text}{plain}", flush=True)


def shown(command: list[str]) -> list[str]:
    short = [Path(c).name if c == STRATALOG else c for c in command]
    print(
        "$ " + " ".join(os.path.relpath(c) if c.startswith("/") else c for c in short), flush=True
    )
    return command


def run(*command: str) -> None:
    done = subprocess.run(shown(list(command)), check=False)
    if done.returncode != 0:
        sys.exit(f"demo: the command ended with exit code {done.returncode}")


def descendants(root: int) -> list[int]:
    listing = subprocess.run(
        ["ps", "-e", "-o", "pid=,ppid="], capture_output=True, text=True, check=True
    ).stdout
    parent = {int(p): int(q) for p, q in (line.split() for line in listing.splitlines())}

    def belongs(pid: int) -> bool:
        while pid in parent and pid != root:
            pid = parent[pid]
        return pid == root

    return [pid for pid in parent if pid != root and belongs(pid)]


def kill_half_way(command: list[str], checkpoints: Path, generations: int) -> bool:
    """SIGKILL to all ranks once so many generations were committed; False if it was faster."""
    process = subprocess.Popen(shown(command))
    while process.poll() is None:
        newest = max((p.parent.name for p in checkpoints.glob("gen-*/MANIFEST")), default="")
        if newest and int(newest.rsplit("-", 1)[1]) >= generations:
            for pid in descendants(process.pid):
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    continue
            process.kill()
            process.wait()
            return True
        time.sleep(0.005)
    return False


def check_answer(report: Path) -> None:
    sizes = {r["name"]: r["rows"] for r in json.loads(report.read_text())["relations"]}
    print(f"answer {sizes['same']:,}, known answer {ANSWER:,}")
    if sizes["same"] != ANSWER:
        sys.exit("demo: WRONG ANSWER")
    print("equal.")


def look_with_h5py(file: Path) -> None:
    try:
        import h5py
    except ImportError:
        print("(h5py is not installed; h5dump shows the file, too)")
        return
    with h5py.File(file) as content:

        def show(name: str, item: object) -> None:
            if isinstance(item, h5py.Dataset):
                print(f"  {name}: shape {item.shape}, {item.dtype}, first {item[:5].tolist()}")
            else:
                print(f"  {name}/: {dict(item.attrs)}")  # type: ignore[attr-defined]

        content.visititems(show)


def draw(report: Path, picture: Path) -> None:
    try:
        import matplotlib as mpl

        mpl.use("Agg")
        from matplotlib import pyplot
    except ImportError:
        print("(matplotlib is not installed, so there is no picture)")
        return
    content = json.loads(report.read_text())
    rounds = content["strata"][-1]["new_tuples_per_round"]
    resumed = content["resumed_iteration"]
    figure, axes = pyplot.subplots(figsize=(8, 3.6), constrained_layout=True)
    before = ["#9bb7d4" if i + 1 <= resumed else "#2b6cb0" for i in range(len(rounds))]
    axes.bar(range(1, len(rounds) + 1), rounds, color=before)
    axes.axvline(resumed + 0.5, color="#c53030", linestyle="--")
    axes.annotate(
        "killed on 2 ranks,\nresumed on 3",
        (resumed + 0.6, max(rounds) * 1.16),
        color="#c53030",
        verticalalignment="top",
    )
    axes.set_ylim(0, max(rounds) * 1.18)
    axes.set_xlabel("iteration")
    axes.set_ylabel("new tuples")
    axes.set_title("Same generation in the western US power grid: 24,413,481 pairs")
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(picture, dpi=130)
    print(f"picture: {os.path.relpath(picture)}")


def main() -> None:
    shutil.rmtree(FOLDER, ignore_errors=True)
    facts = FOLDER / "facts"
    facts.mkdir(parents=True)
    packed = ROOT / "tests" / "data" / "graphs" / "power.tsv.xz"
    (facts / "edge.facts").write_bytes(lzma.decompress(packed.read_bytes()))
    checkpoints, report = FOLDER / "checkpoints", FOLDER / "report.json"

    say("How it will be run")
    run(STRATALOG, "explain", str(PROGRAM), "-F", str(facts))

    say("Two ranks, a checkpoint after every second iteration; half-way all ranks are killed")
    # --ranks starts mpiexec itself and lets the live view reach the terminal.
    command = [STRATALOG, "run", "--ranks", "2", str(PROGRAM), "-F", str(facts), "--verbose"]
    command += ["--checkpoint", str(checkpoints), "--every", "2it", "--report", str(report)]
    if kill_half_way(command, checkpoints, 5):
        print("\nkill -9: the job is gone.")
    else:
        print("\nThe job was done before it could be killed; what follows only reads its answer.")

    say("What is left")
    run(STRATALOG, "ls", str(checkpoints))

    say("Going on, on three ranks")
    again = [STRATALOG, "resume", "--ranks", "3", str(checkpoints), "--verbose"]
    run(*again, "--report", str(report))

    say("The answer")
    check_answer(report)

    say("The relation for other programs: HDF5")
    exported = FOLDER / "same.h5"
    export = ["export", str(checkpoints), "--relation", "same", "--to", "hdf5", str(exported)]
    run(STRATALOG, *export)
    look_with_h5py(exported)
    draw(report, FOLDER / "rounds.png")


if __name__ == "__main__":
    main()
