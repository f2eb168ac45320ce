# SPDX-License-Identifier: Apache-2.0
"""Outputs that cannot be written are refused before anything is computed."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from stratalog_runner import Stratalog

# Division by zero would end the run, if it began.
PROGRAM = """.type T = A {} | B {x: number}
.type R = [x: number]
.decl zero(x: number)
zero(0).
.decl ends(x: number)
ends(1 / x) :- zero(x). .printsize ends
.decl m(x: number)
m(1). m(2).
.decl t(x: T)
t($A()).
.decl r(x: R)
r([1]).
.decl n()
n().
"""


def program(tmp_path: Path, *outputs: str) -> Path:
    file = tmp_path / "p.dl"
    file.write_text(PROGRAM + "".join(line + "\n" for line in outputs))
    return file


@pytest.mark.parametrize(
    ("output", "told"),
    (
        ("t(IO=jsonfile)", "IO=jsonfile cannot hold attribute `x` of type T"),
        ("r(IO=hdf5)", "IO=hdf5 cannot hold attribute `x` of type R"),
        ("n(IO=sqlite)", "IO=sqlite cannot hold a relation without attributes"),
    ),
)
def test_formats_are_errors_of_the_program(
    stratalog: Stratalog, tmp_path: Path, output: str, told: str
) -> None:
    file = program(tmp_path, ".output m", f"  .output {output}")
    place = f"{file}:16:11: error: .output {output[0]}: {told}"
    for command in ("check", "run"):
        refused = stratalog(command, file, expect=1, cwd=tmp_path)
        assert place in refused.err
        assert f"   16 |   .output {output}\n" in refused.err
    refused = stratalog("run", file, "-q", ranks=2, expect=1, cwd=tmp_path)
    assert place in refused.err
    found = stratalog("check", "--json", file, expect=1).json()["diagnostics"]
    assert [entry["line"] for entry in found] == [16]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["p.dl"], "nothing was written"
    # Where all output is printed, files do not matter.
    assert "division by zero" in stratalog("run", file, "-D", "-", expect=1, cwd=tmp_path).err


@pytest.mark.parametrize("ranks", (None, 2))
def test_folders_that_are_not_there(
    stratalog: Stratalog, tmp_path: Path, ranks: int | None
) -> None:
    file = program(tmp_path, '.output m(filename="nodir/m.csv")')
    stratalog("check", file)
    refused = stratalog("run", file, "-D", tmp_path / "out", "-q", ranks=ranks, expect=4)
    assert f"{file}:15:9: .output m: cannot write {tmp_path}/out/nodir/m.csv" in refused.err
    (tmp_path / "out" / "nodir").mkdir()
    computed = stratalog("run", file, "-D", tmp_path / "out", "-q", ranks=ranks, expect=1)
    assert "division by zero" in computed.err


def test_sizes_as_an_output(stratalog: Stratalog, tmp_path: Path) -> None:
    file = tmp_path / "p.dl"
    file.write_text(".decl m(x: number)\nm(1). m(2).\n.output m(IO=stdoutprintsize)\n")
    report = tmp_path / "report.json"
    assert stratalog("run", file, "--report", report, cwd=tmp_path).out == "m\t2\n"
    assert json.loads(report.read_text())["print_sizes"] == [{"name": "m", "rows": 2}]
    assert not (tmp_path / "m.csv").exists()
    assert stratalog("run", file, "-D", "-", cwd=tmp_path).out == "m\t2\n"


def test_names_of_sizes(stratalog: Stratalog, tmp_path: Path) -> None:
    file = tmp_path / "p.dl"
    file.write_text(
        '.decl m(x: number)\nm(1). m(2).\n.output m(IO=stdoutprintsize, name="foo")\n'
        '.decl n(x: number)\n.printsize n(name="bar")\n'
    )
    assert stratalog("run", file, "-q", cwd=tmp_path).out == "foo\t2\nbar\t0\n"


# What Soufflé 2.5 prints for each with `-D -`.
PRINTED = {
    '.decl m(x: number, y: symbol)\nm(1, "u"). m(2, "v").\n.output m\n': (
        "m\nx\ty\n===============\n1\tu\n2\tv\n"
    ),
    ".decl m()\nm().\n.output m\n": "m\n\n===============\n()\n",
    ".decl m()\n.output m\n": "m\n\n===============\n",
    '.decl m(x: number, y: number)\nm(1, 2).\n.output m(delimiter=",", name="mm")\n': (
        "mm\nx,y\n===============\n1,2\n"
    ),
    '.decl m(x: number)\nm(1).\n.output m(headers=true, attributeNames="A", compress=true)\n': (
        "m\nA\n===============\n1\n"
    ),
    '.decl m(x: symbol)\nm("q").\n.output m(IO=json)\n': "m\nx\n===============\nq\n",
}


@pytest.mark.parametrize("text", PRINTED)
def test_printed_outputs_are_souffle_s(stratalog: Stratalog, tmp_path: Path, text: str) -> None:
    file = tmp_path / "p.dl"
    file.write_text(text)
    expected = f"---------------\n{PRINTED[text]}===============\n"
    assert stratalog("run", file, "-q", "-D", "-", cwd=tmp_path).out == expected


def test_printing_what_was_to_be_a_json_file(stratalog: Stratalog, tmp_path: Path) -> None:
    file = tmp_path / "p.dl"
    file.write_text(".decl m(x: number)\nm(1).\n.output m(IO=jsonfile, format=object)\n")
    assert "1\n" in stratalog("run", file, "-D", "-", cwd=tmp_path).out


def test_links_that_lead_to_no_place_for_outputs(stratalog: Stratalog, tmp_path: Path) -> None:
    file = plain(tmp_path)
    (tmp_path / "x.csv").symlink_to("nowhere")
    refused = stratalog("run", file, "-q", expect=4, cwd=tmp_path).err
    assert "x.csv is a link that leads to nothing; remove it" in refused
    (tmp_path / "file").write_text("")
    (tmp_path / "link").symlink_to("file")
    (tmp_path / "lost").symlink_to("nowhere")
    for folder, why in (
        ("link", "cannot open directory link: it is a link to file, which is no directory\n"),
        ("lost", "cannot open directory lost: it is a link to nowhere, which is not there\n"),
        ("file", "cannot open directory file: it, or what it lies in, is no directory\n"),
        ("file/x", "cannot make directory file/x: it, or what it lies in, is no directory\n"),
    ):
        assert why in stratalog("run", file, "-q", "-D", folder, expect=4, cwd=tmp_path).err


ONE_ROW = '.decl x(n: number)\nx(7).\n.output x(filename="/dev/stdout")\n'


def run_into(stratalog: Stratalog, log: Path, *arguments: object) -> str:
    """Standard output at the end of a file, as a shell's `>> log` has it."""
    with log.open("a") as out:
        command = stratalog.command(*arguments)
        done = subprocess.run(command, stdout=out, stderr=subprocess.PIPE, text=True, check=False)
    return f"{done.returncode} {done.stderr}"


def test_what_standard_output_goes_to_is_not_replaced(stratalog: Stratalog, tmp_path: Path) -> None:
    file = tmp_path / "p.dl"
    file.write_text(ONE_ROW)
    log = tmp_path / "log"
    log.write_text("before\n")
    same = log.stat().st_ino
    said = run_into(stratalog, log, "run", file, "-q")
    assert said.startswith("4 ") and "/dev/stdout stands for a file that is open already" in said
    (tmp_path / "link").symlink_to("/dev/stdout")
    file.write_text(ONE_ROW.replace("/dev/stdout", str(tmp_path / "link")))
    assert "stands for a file that is open" in run_into(stratalog, log, "run", file, "-q")

    checkpoint = ("--checkpoint", tmp_path / "ck")
    stratalog("run", file, "-q", *checkpoint, "-D", "-")
    for target in ("/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"):
        said = run_into(stratalog, log, "export", tmp_path / "ck", target, "--relation", "x")
        assert "stands for a file that is open already" in said
    assert log.read_text() == "before\n" and log.stat().st_ino == same
    assert run_into(stratalog, log, "export", tmp_path / "ck", "-", "--relation", "x") == "0 "
    assert log.read_text() == "before\n7\n" or log.read_text().startswith("before\n---")

    # Reports go there as text; what is there stays.
    log.write_text("before\n")
    for option in ("-", "/dev/stdout", "/dev/fd/1"):
        report = ("--report", option, "-q", "--restart-fresh", *checkpoint, "-D", tmp_path)
        assert run_into(stratalog, log, "run", plain(tmp_path), *report) == "0 "
    lines = log.read_text().splitlines()
    assert lines[0] == "before" and log.read_text().count('"stratalog-run-report"') == 3
    assert Path("/dev/stdout").is_symlink()


def plain(tmp_path: Path) -> Path:
    file = tmp_path / "plain.dl"
    file.write_text(".decl x(n: number)\nx(7).\n.output x\n")
    return file


def test_exported_files_have_the_mode_of_the_umask(stratalog: Stratalog, tmp_path: Path) -> None:
    stratalog("run", plain(tmp_path), "-q", "--checkpoint", "ck", cwd=tmp_path)
    umask = os.umask(0o022)
    try:
        for name in ("x.tsv", str(tmp_path / "y.tsv")):
            stratalog("export", "ck", name, "--relation", "x", cwd=tmp_path)
    finally:
        os.umask(umask)
    for name in ("x.csv", "x.tsv", "y.tsv"):
        assert (tmp_path / name).stat().st_mode & 0o777 == 0o644, name


@pytest.mark.parametrize("ranks", (None, 2))
def test_replaced_files_keep_their_mode(
    stratalog: Stratalog, tmp_path: Path, ranks: int | None
) -> None:
    kinds = {"a.csv": "file", "b.json": "jsonfile", "c.sqlite": "sqlite", "d.h5": "hdf5"}
    outputs = "".join(f'.output x(IO={io}, filename="{name}")\n' for name, io in kinds.items())
    file = tmp_path / "p.dl"
    file.write_text(".decl x(n: number)\nx(7).\n" + outputs + '.output x(filename="link.csv")\n')
    (tmp_path / "aim.csv").write_text("")
    (tmp_path / "link.csv").symlink_to("aim.csv")
    beside = ("--report", "r.json", "--profile", "p.json")
    run = ("run", file, "-q", *beside, "--checkpoint", "ck", "--restart-fresh")
    umask = os.umask(0o022)
    try:
        stratalog(*run, cwd=tmp_path, ranks=ranks)
        written = [*kinds, "aim.csv", "r.json", "p.json"]
        assert {(tmp_path / name).stat().st_mode & 0o777 for name in written} == {0o644}
        for mode in (0o600, 0o664, 0o444):
            for name in written:
                (tmp_path / name).chmod(mode)
            stratalog(*run, cwd=tmp_path, ranks=ranks)
            stratalog("export", "ck", "aim.csv", "--relation", "x", cwd=tmp_path)
            modes = {name: (tmp_path / name).stat().st_mode & 0o777 for name in written}
            assert set(modes.values()) == {mode}, modes
            assert (tmp_path / "a.csv").read_text() == "7\n"
    finally:
        os.umask(umask)
    assert (tmp_path / "link.csv").is_symlink()


# Each with `.output zero(filename="x.csv")`; `link` is a link to the folder of outputs, y.csv one
# to x.csv.
SAME_PLACES = ("sub/../x.csv", "{out}/x.csv", "link/x.csv", "../out/x.csv", "y.csv")


@pytest.mark.parametrize("ranks", (None, 2))
def test_outputs_into_one_place(stratalog: Stratalog, tmp_path: Path, ranks: int | None) -> None:
    out = tmp_path / "out"
    (out / "sub").mkdir(parents=True)
    (out / "link").symlink_to(".")
    (out / "x.csv").write_text("old\n")
    (out / "y.csv").symlink_to("x.csv")
    for path in SAME_PLACES if ranks is None else SAME_PLACES[-1:]:
        name = path.format(out=out)
        file = program(
            tmp_path,
            '.output zero(filename="x.csv")',
            f'.output m(filename="{name}")',
            ".output ends",
        )
        refused = stratalog("run", file, "-D", out, "-q", ranks=ranks, expect=None)
        assert refused.code in (1, 4), path
        assert f"{file}:16:9: " in refused.err, path
        assert f'x.csv" is that of `.output zero` at {file}:15:9 as well' in refused.err, path
        assert (out / "x.csv").read_text() == "old\n"
    database = f"{out}/all.db"
    for zero, m, told in (
        ("", "IO=hdf5", f'{{}}:16:9: .output m: the file "{database}" is that of `.output zero`'),
        (
            ', name="T"',
            'IO=sqlite, name="t"',
            f'the table or view "t" of the database "{database}" is that of',
        ),
    ):
        file = program(
            tmp_path,
            f'.output zero(IO=sqlite, filename="all.db"{zero})',
            f'.output m({m}, filename="{database}")',
            ".output ends",
        )
        refused = stratalog("run", file, "-D", out, "-q", ranks=ranks, expect=4)
        assert told.format(file) in refused.err
    # Links of one file that is not the same: renaming replaces one name only.
    (out / "y.csv").unlink()
    (out / "y.csv").hardlink_to(out / "x.csv")
    file.write_text(
        '.decl m(x: number)\nm(1).\n.output m(filename="x.csv")\n'
        '.decl zero(x: number)\nzero(0).\n.output zero(filename="y.csv")\n'
    )
    stratalog("run", file, "-D", out, "-q", ranks=ranks)
    assert (out / "x.csv").read_text() == "1\n"
    assert (out / "y.csv").read_text() == "0\n"


@pytest.mark.parametrize("ranks", (None, 2))
def test_files_beside_the_results_are_looked_at_first(
    stratalog: Stratalog, tmp_path: Path, ranks: int | None
) -> None:
    file = program(tmp_path, ".output m")
    before = file.read_text()
    (tmp_path / "out").mkdir()
    (tmp_path / "link").symlink_to("p.dl")
    (tmp_path / "lost").symlink_to("nodir/r.json")
    output = "is that of `.output m`, and one would overwrite"
    for option, path, told in (  # files that cannot be written, and those of others
        ("--report", "nodir/r.json", "there is no folder nodir; make it first"),
        ("--profile", "lost", "there is no folder nodir; make it first"),
        ("--report", "out", "out is a folder; name a file in it"),
        ("--report", "p.dl", "the file p.dl is the program, and one would overwrite"),
        ("--profile", "link", "the file link is the program, and one would overwrite"),
        ("--report", "out/m.csv", output),
        ("--profile", str(tmp_path / "out" / ".." / "out" / "m.csv"), output),
    ):
        run = ("run", "p.dl", "-q", "-D", "out", option, path)
        code = 4 if "folder" in told else 1
        refused = stratalog(*run, cwd=tmp_path, ranks=ranks, expect=code)
        assert refused.err.startswith(f"stratalog: {option}: ") and told in refused.err
    both = ("--report", "a.json", "--profile", "./a.json")
    refused = stratalog("run", "p.dl", "-q", "-D", "out", *both, cwd=tmp_path, expect=1)
    assert "--profile: the file ./a.json is that of --report, and one would" in refused.err
    assert file.read_text() == before
    assert list((tmp_path / "out").iterdir()) == []


def test_reports_through_links(stratalog: Stratalog, tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "r.json").symlink_to("sub/new.json")
    for _ in range(2):  # leads to nothing, and to a file
        stratalog("run", plain(tmp_path), "-q", "--report", "r.json", cwd=tmp_path)
        assert (tmp_path / "r.json").is_symlink()
        assert json.loads((tmp_path / "sub" / "new.json").read_text())["version"] == 1
    assert [path.name for path in (tmp_path / "sub").iterdir()] == ["new.json"]
