# SPDX-License-Identifier: Apache-2.0
"""docs/ against the command: every option of every command is there, every key of its JSON, and
what the pages say of cells holds for a checkpoint."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from stratalog_runner import EDGE_CLOSURE, Stratalog, chain

PROJECT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(PROJECT / "python"))

from stratalog_formats.dictionary import Dictionary  # noqa: E402
from stratalog_formats.read_checkpoint import newest_generation  # noqa: E402

DOCS = PROJECT / "docs"


def page(name: str) -> str:
    return (DOCS / name).read_text()


def commands(stratalog: Stratalog) -> list[str]:
    text = stratalog("--help").out.partition("Subcommands:\n")[2].partition("\n\n")[0]
    return [line.split()[0] for line in text.splitlines()]


def options(help_text: str) -> set[str]:
    """Names with which lines of the help begin: -F,--fact-dir DIR; -o DIR, --output DIR."""
    found: set[str] = set()
    for line in help_text.splitlines():
        # Where the names end: before the explanation, or the value of an optional argument.
        names = re.match(r"  (-\S.*?)(?:  |$)", line)
        if names is not None:
            found |= set(re.findall(r"(?<![\w-])--?[A-Za-z][\w-]*", names[1]))
    return found


def is_named(option: str, text: str) -> bool:
    return re.search(rf"(?<![\w-]){re.escape(option)}(?![\w-])", text) is not None


def test_every_option_is_documented(stratalog: Stratalog) -> None:
    known = commands(stratalog)
    assert {"run", "resume", "export", "why-not", "bench"} <= set(known)
    missing = {
        command: sorted(
            option
            for option in options(stratalog(*command.split(), "--help").out)
            if not is_named(option, page("command.md"))
        )
        for command in ("", *(name for name in known if name != "bench"))
    }
    assert not {command: names for command, names in missing.items() if names}
    of_bench = options(stratalog("bench", "checkpoint", "--help").out)
    assert {"-o", "--output", "--budget", "--columns", "-q"} <= of_bench
    assert [one for one in sorted(of_bench) if not is_named(one, page("bench.md"))] == []


def test_options_are_found_in_helps() -> None:
    assert options(
        "  -h,--help            Print this and --that\n"
        "  -F,--fact-dir DIR    folder\n"
        "  --progress{live}     view\n"
        "  --resume Excludes: --restart-fresh\n"
        "  -o DIR, --output DIR\n"
        "                       --no-option, as this line is an explanation\n"
    ) == {"-h", "--help", "-F", "--fact-dir", "--progress", "--resume", "--restart-fresh"} | {
        "-o",
        "--output",
    }
    assert is_named("-o", "`-o DIR`") and not is_named("--no", "`--no-sets`")


def keys(value: Any, skipped: tuple[str, ...] = ()) -> Iterator[str]:
    """Of all objects in it, but not in what stands below the keys that are skipped."""
    if isinstance(value, list):
        for one in value:
            yield from keys(one, skipped)
    elif isinstance(value, dict):
        for key, one in value.items():
            yield key
            if key not in skipped:
                yield from keys(one, skipped)


@pytest.fixture(scope="module")
def run(stratalog: Stratalog, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with program, facts, checkpoints and report of a run."""
    folder = tmp_path_factory.mktemp("run")
    program = folder / "closure.dl"
    program.write_text(EDGE_CLOSURE + ".decl more(n: number)\nmore(count : { path(_, _) }).\n")
    where = ("-F", chain(40, folder / "facts"), "-D", folder, "--no-pivot", "-q")
    keep = ("--checkpoint", folder / "ck", "--every", "10it", "--keep", "9")
    stratalog("run", program, *where, *keep, "--report", folder / "report.json")
    return folder


@pytest.mark.parametrize(
    ("heading", "words"),
    [
        ("check", lambda at: ("check", at / "wrong.dl", "--json")),
        ("explain", lambda at: ("explain", at / "closure.dl", "--json")),
        ("ls", lambda at: ("ls", at / "ck", "--json")),
        ("inspect", lambda at: ("inspect", at / "ck", "--json")),
        ("verify", lambda at: ("verify", at / "ck", "--json")),
        ("export", lambda at: ("export", at / "ck", at / "o", "--relation", "path", "--json")),
    ],
)
def test_keys_of_json_are_documented(
    stratalog: Stratalog, run: Path, heading: str, words: Callable[[Path], tuple[object, ...]]
) -> None:
    (run / "wrong.dl").write_text(".decl a(x: number)\na(x) :- b(x).\n.decl a(y: number)\n")
    text = stratalog(*words(run), expect=None).out
    row = next(
        line for line in page("command.md").splitlines() if line.startswith(f"| `{heading}`")
    )
    # The engine's state has its own page, and pivots are named after relations.
    found = set(keys(json.loads(text), ("engine_state", "pivot_columns")))
    assert found
    assert [key for key in sorted(found) if f"`{key}`" not in row] == []


def test_keys_of_the_report_are_documented(run: Path) -> None:
    table = page("command.md").partition("`--report FILE` writes")[2]
    report = json.loads((run / "report.json").read_text())
    assert report["checkpoints"]
    # Seconds of a checkpoint's phases stand there in words.
    found = {key.removesuffix("_seconds") for key in keys(report)}
    assert [key for key in sorted(found) if not is_named(key, table)] == []


def test_export_to_the_console_has_soufflés_frame(stratalog: Stratalog, run: Path) -> None:
    out = stratalog("export", run / "ck", "-", "--relation", "more").out.splitlines()
    assert out == ["-" * 15, "more", "=" * 15, str(40 * 39 // 2), "=" * 15]


VALUES = """\
.decl v(place: number, n: number)
v(0, 0). v(1, 2130706431). v(2, 2130706432). v(3, -1). v(4, -16777216). v(5, -16777217).
v(6, 1099511627776). v(7, 2147483648).
.output v
"""


def test_cells_stand_for_what_the_page_says(stratalog: Stratalog, tmp_path: Path) -> None:
    """The page's own Python, on the cells of a checkpoint."""
    program = tmp_path / "values.dl"
    program.write_text(VALUES)
    stratalog("run", program, "-D", tmp_path, "--checkpoint", tmp_path / "ck", "-q")
    names: dict[str, Any] = {}
    code = re.search(r"```python\n(def pattern.*?)```", page("formats/facts.md"), re.DOTALL)
    assert code is not None
    exec(code[1], names)
    generation = newest_generation(tmp_path / "ck")
    wide = Dictionary(generation.section("dictionary")).wides.tolist()
    rows = generation.rows(generation.find("v")).tolist()
    found = {int(place): names["pattern"](int(cell), wide) for place, cell in rows}
    lines = (tmp_path / "v.csv").read_text().splitlines()
    expected = [line.split("\t") for line in lines]
    assert found == {int(place): int(value) % 2**64 for place, value in expected}
    assert len(wide) == 4 and len(found) == 8


def test_images_are_the_index_of_the_relation_in_the_linked_generation(
    stratalog: Stratalog, tmp_path: Path
) -> None:
    program = tmp_path / "parity.dl"
    program.write_text("""\
.decl edge(x: number, y: number)
.input edge
.decl odd(x: number, y: number)
.decl even(x: number, y: number)
.output even
odd(x, y) :- edge(x, y).
even(x, z) :- odd(x, y), edge(y, z).
odd(x, z) :- even(x, y), edge(y, z).
""")
    where = ("-F", chain(40, tmp_path), "-D", tmp_path, "--checkpoint", tmp_path / "ck")
    stratalog("run", program, *where, "--every", "20it", "--keep", "9", "--no-pivot", "-q", "-j2")

    def lines(generation: str, kind: str) -> list[dict[str, Any]]:
        """Lines that begin with the field that names their kind."""
        text = (tmp_path / "ck" / generation / "MANIFEST").read_text()
        return [json.loads(line) for line in text.splitlines() if line.startswith(f'{{"{kind}"')]

    newest = newest_generation(tmp_path / "ck")
    here = newest.directory.name
    relations, links = lines(here, "relation"), lines(here, "link")
    moved = 0
    for shard in lines(here, "shard"):
        if "link" in shard:
            there = lines(links[shard["link"]]["link"], "relation")[shard["image"]]
            assert there["relation"] == relations[shard["shard"]]["relation"]
            assert there["version"] == "total"
            moved += shard["shard"] != shard["image"]
    assert moved > 0
    assert len(newest.rows(newest.find("even"))) > 0
