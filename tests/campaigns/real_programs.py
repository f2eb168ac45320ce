# SPDX-License-Identifier: Apache-2.0
"""Programs written for Soufflé by others, with random or real facts: every relation as Soufflé's.

    python tests/campaigns/real_programs.py --souffle souffle --stratalog build/stratalog \
        --facts 1:20 -M ARCH_AMD64 -L FOLDER ddisasm/src/datalog/main.dl

The programs are not part of this project: name copies of them, as they are. What .input needs is
read from Soufflé's own account of the program; symbols are drawn from a few letters and the texts
that the program mentions, so that rules find partners. All relations become outputs, unless
--as-is. `ord(...)` of symbols, which is another number in each system, becomes `strlen(...)` unless
--keep-ord. -L names a folder with libfunctors.so, for programs with functors, which both load.

    python tests/campaigns/real_programs.py --souffle souffle --no-choice -L FUNCTORS \
        --fact-dir FACTS/one --fact-dir FACTS/two gigahorse-toolchain/logic/main.dl

--fact-dir takes facts that there are, instead of random ones. --no-choice strikes out
`choice-domain`, where each system may choose another tuple.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(PROJECT / "python"))

INPUT = re.compile(r"^\.input (\S+)\((.*)\)\s*$", re.MULTILINE)
OUTPUT = re.compile(r"^\.output (\S+?)\(", re.MULTILINE)
INLINE = re.compile(r"\.decl\s+([\w?]+)\s*\([^)]*\)\s*[^.]*?\binline\b")
PLAN = re.compile(r"\.plan\s+\d+\s*:\s*\([\d,\s]*\)(\s*,\s*\d+\s*:\s*\([\d,\s]*\))*")
CHOICE = re.compile(r"\bchoice-domain\s+(\w+|\([\w\s,]*\))(\s*,\s*(\w+|\([\w\s,]*\)))*")
DIRECTIVE = re.compile(r"^\.(input|output|pragma|printsize).*$", re.MULTILINE)
MISSING = re.compile(r"there is no fact file (\S+);")
LETTERS = list("abcdefgh")


@dataclass
class Input:
    file: str
    types: list[str]  # "i:number", "s:symbol", "r:List", ...
    delimiter: str
    records: dict[str, dict[str, list[str]]]


def parameter(body: str, name: str) -> str | None:
    found = re.search(rf'(?<![\w-]){name}="((?:[^"\\]|\\.)*)"', body)
    return found[1] if found else None


def inputs_of(account: str) -> list[Input]:
    inputs = []
    for match in INPUT.finditer(account):
        body = match[2]
        types = body[body.index('types="') + len('types="') :]
        told = json.loads(types[: types.rindex("}") + 1])
        delimiter = (parameter(body, "delimiter") or "\t").encode().decode("unicode_escape")
        file = parameter(body, "filename") or f"{parameter(body, 'name')}.facts"
        inputs.append(Input(file, told["relation"]["types"], delimiter, told.get("records", {})))
    return inputs


class Values:
    """What a program's facts are made of."""

    def __init__(self, account: str, chance: random.Random, limit: int) -> None:
        plain = DIRECTIVE.sub("", account)
        texts = {t for t in re.findall(r'"((?:[^"\\\n]|\\.)*)"', plain) if "\\" not in t}
        self.texts = sorted(t for t in texts if "\t" not in t and t.strip() == t) + LETTERS
        digits = re.findall(r"(?<![\w.])\d{1,6}(?![\w.])", re.sub(r'"[^"\n]*"', "", plain))
        self.numbers = sorted({int(d) for d in digits})
        self.chance = chance
        self.limit = limit
        self.few = [chance.choice(self.texts if chance.random() < 0.6 else LETTERS)
                    for _ in range(10)]  # fmt: skip

    def one(self, kind: str, records: dict[str, dict[str, list[str]]], depth: int = 0) -> str:
        chance = self.chance
        if kind[0] in "iu":
            if self.numbers and chance.random() < 0.15:
                return str(chance.choice(self.numbers))
            return str(chance.randrange(self.limit))
        if kind[0] == "f":
            return repr(chance.choice([0.5, 1.0, 2.0, 3.25, float(chance.randrange(9))]))
        if kind[0] == "s":
            return chance.choice(self.few if chance.random() < 0.7 else self.texts)
        if kind[0] != "r":
            sys.exit(f"facts of type {kind} cannot be made yet")
        if depth > 2 or chance.random() < 0.2:
            return "nil"
        fields = (self.one(field, records, depth + 1) for field in records[kind]["types"])
        return f"[{', '.join(fields)}]"

    def write(self, inputs: list[Input], rows: int, folder: Path) -> None:
        for wanted in inputs:
            lines = {
                wanted.delimiter.join(self.one(kind, wanted.records) for kind in wanted.types)
                for _ in range(self.chance.randrange(rows + 1))
            }
            file = folder / wanted.file
            file.parent.mkdir(parents=True, exist_ok=True)
            if not wanted.types:
                lines = {"()"} if lines else set()
            file.write_text("".join(f"{line}\n" for line in sorted(lines)))


class Campaign:
    def __init__(self, options: argparse.Namespace, scratch: Path) -> None:
        self.options = options
        self.scratch = scratch
        self.program = Path(options.program).resolve()
        self.words = [w for m in options.macro for w in ("-M", m)]
        self.words += [w for i in options.include for w in ("-I", str(Path(i).resolve()))]
        self.library = ["-L", str(Path(options.library).resolve())] if options.library else []
        if not options.as_is:
            self.put_everything_out()

    def account(self) -> str:
        """The program as Soufflé sees it after all its transformations."""
        show = [self.options.souffle, "-w", "--show=transformed-datalog"]
        told = subprocess.run(
            [*show, *self.words, self.program], capture_output=True, text=True, check=False
        )
        if told.returncode != 0:
            sys.exit(f"Soufflé refuses {self.program}: {told.stderr[:600]}")
        return told.stdout

    def put_everything_out(self) -> None:
        import stratalog  # needs a built library

        macros = [f"-D{m}" for m in self.options.macro]
        folders = [word for word in self.words if word not in self.options.macro and word != "-M"]
        command = [self.options.preprocessor, "-W0", "-P", *macros, *folders, self.program]
        text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        text = PLAN.sub("", text)  # of rules that no output needed
        if self.options.no_choice:
            text = CHOICE.sub("", text)
        if not self.options.keep_ord:
            text = re.sub(r"\bord\(", "strlen(", text)
        names = [n for n in stratalog.Program(text) if "#" not in n]
        self.program = self.scratch / "program.dl"
        self.program.write_text(text)
        self.words = []
        known = set(OUTPUT.findall(self.account()))
        inline = set(INLINE.findall(text))
        more = [n for n in names if n not in known and n.rsplit(".", 1)[-1] not in inline]
        self.program.write_text(text + "".join(f"\n.output {n}" for n in more) + "\n")

    def run(self, command: list[str], out: Path) -> tuple[int | None, str, float]:
        out.mkdir()
        began = time.monotonic()
        where = ["-F", str(self.scratch / "facts"), "-D", str(out)]
        try:
            done = subprocess.run(
                [*command, *self.library, *where, *self.words, self.program],
                capture_output=True,
                text=True,
                errors="replace",
                timeout=self.options.limit,
                stdin=subprocess.DEVNULL,
                cwd=self.scratch,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return None, f"took more than {self.options.limit:.0f} s", self.options.limit
        return done.returncode, done.stdout + done.stderr, time.monotonic() - began

    def run_ours(self, threads: int, out: Path) -> tuple[int | None, str, float]:
        """Files that Soufflé does not ask for, as it has forgotten the relation, are empty."""
        while True:
            shutil.rmtree(out, ignore_errors=True)
            command = [self.options.stratalog, "run", "-q", "-j", str(threads)]
            code, said, seconds = self.run(command, out)
            missing = MISSING.search(said)
            if code != 2 or not missing:
                return code, said, seconds
            Path(missing[1]).touch()

    def compare(self, case: int | Path, inputs: list[Input], account: str) -> bool:
        """`case`: a seed, or a folder with facts."""
        for entry in ("facts", "theirs"):
            shutil.rmtree(self.scratch / entry, ignore_errors=True)
        seed = case if isinstance(case, int) else case.name
        if isinstance(case, int):
            (self.scratch / "facts").mkdir()
            values = Values(account, random.Random(case), self.options.numbers)
            values.write(inputs, self.options.rows, self.scratch / "facts")
        else:
            shutil.copytree(case, self.scratch / "facts")
        theirs = self.scratch / "theirs"
        code, said, seconds = self.run([self.options.souffle, "-w"], theirs)
        if code != 0:
            print(f"{seed}: Soufflé: {code}: {said.strip()[-200:]}", flush=True)
            return True
        is_good = True
        for threads in self.options.threads:
            ours = self.scratch / "ours"
            our_code, our_words, our_seconds = self.run_ours(threads, ours)
            if our_code is None:
                print(f"{seed}: {threads} ranks: {our_words}", flush=True)
                continue
            expected, found = outputs_of(theirs), outputs_of(ours)
            wrong = sorted(k for k in expected | found if expected.get(k) != found.get(k))
            tuples = sum(map(len, expected.values()))
            some = sum(1 for lines in expected.values() if lines)
            verdict = f"differs: {', '.join(wrong)[:300]}" if wrong else "the same"
            if our_code != 0:
                verdict = f"exit code {our_code}: {our_words.strip()[-300:]}"
            print(
                f"{seed}: {threads} ranks: {len(expected)} relations, {some} not empty, "
                f"{tuples} tuples; {seconds:.1f} and {our_seconds:.1f} s: {verdict}",
                flush=True,
            )
            is_good = is_good and not wrong and our_code == 0
        return is_good


def lines_of(file: Path) -> list[str]:
    content = file.read_bytes()
    text = gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content
    return sorted(text.decode(errors="replace").splitlines())


def outputs_of(folder: Path) -> dict[str, list[str]]:
    files = (file for file in folder.rglob("*") if file.is_file())
    return {str(file.relative_to(folder)): lines_of(file) for file in files}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("--souffle", default="souffle")
    parser.add_argument("--stratalog", default=str(PROJECT / "build" / "stratalog"))
    parser.add_argument("--preprocessor", default="mcpp")
    parser.add_argument("--facts", default="1:4", help="seeds FROM:TO, without the last")
    parser.add_argument("--rows", type=int, default=25, help="most rows of an input")
    parser.add_argument("--numbers", type=int, default=24, help="numbers below this")
    parser.add_argument("--threads", type=int, nargs="*", default=[1, 2])
    parser.add_argument("--limit", type=float, default=120, help="seconds of a run")
    parser.add_argument("-M", "--macro", action="append", default=[])
    parser.add_argument("-I", "--include", action="append", default=[])
    parser.add_argument("-L", "--library", help="folder with libfunctors.so")
    parser.add_argument("--as-is", action="store_true", help="the outputs that the program has")
    parser.add_argument("--keep-ord", action="store_true")
    parser.add_argument("--no-choice", action="store_true", help="strike out choice-domain")
    parser.add_argument("--fact-dir", action="append", default=[], help="facts that there are")
    options = parser.parse_args()
    options.stratalog = str(Path(options.stratalog).resolve())
    first, last = map(int, options.facts.split(":"))
    cases = [Path(folder).resolve() for folder in options.fact_dir] or list(range(first, last))
    with tempfile.TemporaryDirectory() as scratch:
        campaign = Campaign(options, Path(scratch))
        account = campaign.account()
        inputs = inputs_of(account)
        bad = [case for case in cases if not campaign.compare(case, inputs, account)]
    print(f"{len(inputs)} inputs; {len(bad)} of {len(cases)} sets of facts differ")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
