#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs as people write them that were, or are, much slower here than in Soufflé.

Each is run by each PROGRAM (`--stratalog NAME=PATH`, several to compare builds), with 1 and 2
threads, and as Soufflé compiles it where --souffle names that; least of --repeats runs in turns,
ended after --seconds. All must print the same sizes. Facts are random, with a fixed seed. Writes
OUT.md.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from closure_forms import least
from peers import ROOT, compile_souffle, machine

DECLARED = {
    "iv": ".decl iv(i: number, s: number, t: number)\n.input iv\n",
    "pt": ".decl pt(i: number, x: number, y: number)\n.input pt\n",
    "val": ".decl val(i: number, g: number, v: number)\n.input val\n",
    "star": ".decl star(x: number)\n.input star\n",
    "triple": ".decl triple(s: number, p: number, o: number)\n.input triple\n",
    "word": ".decl word(p: number, w: number)\n.input word\n",
    "buys": ".decl buys(t: number, i: number)\n.input buys\n",
    "link": ".decl link(x: number, y: number)\n.input link\n",
    "event": ".decl event(u: number, t: number)\n.input event\n",
    "older": ".decl older(v: number, p: number)\n.input older\n",
    "person": ".decl person(x: number, name: number, mail: number, phone: number)\n.input person\n",
    "taxon": ".decl taxon(x: number, k: number, c: number, o: number, f: number, g: number, "
    "day: number)\n.input taxon\n",
    "seen": ".decl seen(x: number, y: number)\n.input seen\n",
}
NEAR = ".decl n(a: number, b: number)\n.printsize n\n"
TERMS = """.type E = Num {n: number} | Add {l: E, r: E} | Mul {l: E, r: E}
.decl ex(e: E, d: number)
ex($Num(n), 0) :- n = range(0, 9).
ex($Add(a, b), d + 1) :- ex(a, d), ex(b, d), d < 2.
ex($Mul(a, $Num(2)), d + 1) :- ex(a, d), d < 2.
.decl ev(e: E, v: number)
.printsize ev
ev($Num(n), n) :- ex($Num(n), _).
ev($Add(a, b), x + y) :- ex($Add(a, b), _), ev(a, x), ev(b, y).
ev($Mul(a, b), x * y) :- ex($Mul(a, b), _), ev(a, x), ev(b, y).
"""
# Of hundreds of rules that each run once.
RULES = (
    "".join(
        f".decl r{i}(a: number, b: number)\n"
        f"r{i}(a, b) :- val(x, a, v), x % 400 = {i}, b = v % 7, v != {i}.\n"
        f"all(a, b) :- r{i}(a, b), a != {i}, !r{i}(b, a).\n"
        for i in range(400)
    )
    + ".decl all(a: number, b: number)\n.printsize all\n"
)
PROGRAMS = {
    "overlap": NEAR + "n(a, b) :- iv(a, s, t), iv(b, u, _), s <= u, u < t, a != b.\n",
    "band": NEAR + "n(a, b) :- pt(a, x, y), pt(b, v, w), v >= x, v <= x + 200, w >= y - 5000, "
    "w <= y + 5000.\n",
    "frange": ".decl f(i: number, x: float)\nf(i, to_float(x) / 7.0) :- pt(i, x, _), i < 20000.\n"
    + NEAR
    + "n(a, b) :- f(a, x), f(b, y), y > x, y < x + 5.0.\n",
    "rank": ".decl r(i: number, n: number)\nr(i, n) :- val(i, g, v), "
    "n = count : { val(_, g, w), w > v }.\n"
    ".decl top(i: number)\n.printsize top\ntop(i) :- r(i, n), n < 3.\n",
    "interp": TERMS,
    "tri_in": NEAR + "n(a, b) :- iv(a, s, t), iv(b, u, v), s < u, v < t.\n",
    "latest": ".decl later(i: number)\n.printsize later\n"
    "later(i) :- val(i, g, v), val(_, g, w), v < w.\n",
    "pairs": NEAR + "n(a, b) :- val(a, g, v), val(b, g, w), v < w, w - v < 3000.\n",
    "bucket": NEAR + "n(a, b) :- pt(a, x, _), pt(b, y, _), x / 50 = y / 50, a < b.\n",
    "common": ".decl c(a: number, b: number, n: number)\n.printsize c\n"
    "c(x, y, n) :- star(x), star(y), x < y, n = count : { triple(x, p, o), triple(y, p, o) }, "
    "n > 0.\n",
    "near": ".decl a(x: number)\na(x) :- x = range(0, 30000).\n.decl near(x: number)\n"
    ".printsize near\nnear(x) :- a(x), a(y), x + y > 40000.\n",
    "pareto": ".decl p(i: number, a: number, b: number, c: number)\n"
    "p(i, (i * 7919) % 10007, (i * 10473) % 10009, (i * 31) % 10037) :- i = range(0, 10000).\n"
    ".decl beaten(i: number)\nbeaten(i) :- p(i, a, b, c), p(j, d, e, f), i != j, d >= a, e >= b, "
    "f >= c.\n.decl front(i: number)\n.printsize front\nfront(i) :- p(i, _, _, _), !beaten(i).\n",
    "subsumed": ".decl p(x: number, y: number)\np(x, (x * 7919) % 40009) :- x = range(0, 20000).\n"
    ".decl q(x: number, y: number)\n.printsize q\nq(x, y) :- p(x, y).\n"
    "q(x, y) <= q(a, b) :- x <= a, y <= b.\n",
    "merge": ".decl part(a: number, b: number)\n"
    "part(x * 10, x * 10 + 8 + (x * 7919) % 7) :- x = range(0, 20000).\n"
    ".decl m(a: number, b: number)\n.printsize m\nm(a, b) :- part(a, b).\n"
    "m(a, d) :- m(a, b), m(c, d), a < c, c <= b, b < d.\n",
    "shared": ".decl e(a: number, n: number)\ne(x, (x * 7919) % 30011) :- x = range(0, 30000).\n"
    ".decl l(a: number, n: number)\n.printsize l\nl(a, n) :- e(a, n), n < 30000.\n"
    "l(b, m / 2) :- l(a, n), l(b, m), m <= n, m >= n - 1, a != b, m < 2000.\n",
    "absent": ".decl e(x: number, y: number)\n.decl f(x: number, y: number)\n"
    "e((i * 7919) % 13333, (i * 104729) % 13331) :- i = range(0, 40000).\n"
    "f((i * 7907) % 13333, (i * 104723) % 13327) :- i = range(0, 40000).\n"
    ".decl o(x: number)\n.printsize o\no(x) :- e(x, _), e(y, _), !f(x, y).\n",
    "points": NEAR + "n(a, b) :- pt(a, x, _), pt(b, y, _), x - y < 20, y - x < 20, a != b.\n",
    "terms": ".type T = Leaf {n: number} | Node {l: T, r: T}\n.decl sub(t: T)\n"
    "sub($Leaf(i)) :- i = range(0, 8000).\n"
    "sub($Node($Leaf(i), $Leaf(i * 7 % 8000))) :- i = range(0, 8000).\n"
    "sub($Node($Node($Leaf(i), $Leaf(i * 7 % 8000)), $Leaf(i * 3 % 8000))) :- i = range(0, 8000).\n"
    ".decl depth(t: T, d: number)\n.printsize depth\ndepth(t, 0) :- sub(t), t = $Leaf(_).\n"
    "depth(t, max(d, e) + 1) :- sub(t), t = $Node(a, b), depth(a, d), depth(b, e).\n",
    "next": ".decl two(a: number, b: number, n: number)\n.printsize two\n"
    "two(a, b, n) :- word(p, a), word(p + 1, b), n = count : { word(q, a), word(q + 1, b) }.\n"
    ".decl three(a: number, b: number, c: number, n: number)\n.printsize three\n"
    "three(a, b, c, n) :- two(a, b, x), x > 20, two(b, c, y), y > 20, "
    "n = count : { word(q, a), word(q + 1, b), word(q + 2, c) }, n > 3.\n",
    "together": ".decl c(i: number, j: number, n: number)\n.printsize c\n"
    "c(i, j, n) :- buys(t, i), buys(t, j), i < j, n = count : { buys(s, i), buys(s, j) }.\n",
    "votes": ".decl lab(v: number, l: number)\nlab(v, v % 1000) :- link(v, _).\n"
    ".decl votes(v: number, l: number, n: number)\n.printsize votes\n"
    "votes(v, l, n) :- link(v, w), lab(w, l), n = count : { link(v, x), lab(x, l) }.\n"
    ".decl new(v: number, l: number)\n.printsize new\n"
    "new(v, l) :- link(v, _), m = max n : { votes(v, _, n) }, l = min k : { votes(v, k, m) }.\n",
    "support": ".decl support(a: number, b: number, n: number)\n.printsize support\n"
    "support(a, b, n) :- link(a, b), n = count : { link(a, c), link(b, c) }.\n",
    "simplify": """.type E = N {n: number} | X {s: symbol} | Add {a: E, b: E} | Neg {a: E}
.decl ex(e: E, d: number)
ex($N(n), 0) :- n = range(0, 4).
ex($X(s), 0) :- (s = "x"; s = "y"; s = "z").
ex($Add(a, b), d + 1) :- ex(a, d), ex(b, d), d < 2.
ex($Neg(a), d + 1) :- ex(a, d), d < 2.
.decl s(e: E, r: E)
.printsize s
s($N(n), $N(n)) :- ex($N(n), _).
s($X(n), $X(n)) :- ex($X(n), _).
s($Add(a, b), r) :- ex($Add(a, b), _), s(a, $N(0)), s(b, r).
s($Add(a, b), r) :- ex($Add(a, b), _), s(a, r), s(b, $N(0)).
s($Add(a, b), $N(x + y)) :- ex($Add(a, b), _), s(a, $N(x)), s(b, $N(y)).
s($Add(a, b), $Add(x, y)) :- ex($Add(a, b), _), s(a, x), s(b, y), x != $N(0), y != $N(0).
s($Neg(a), $N(0 - n)) :- ex($Neg(a), _), s(a, $N(n)).
s($Neg(a), x) :- ex($Neg(a), _), s(a, $Neg(x)).
s($Neg(a), $Neg(x)) :- ex($Neg(a), _), s(a, x).
""",
    "covered": ".decl covered(i: number)\n.printsize covered\n"
    "covered(a) :- iv(a, s, t), iv(b, u, v), a != b, u <= s, t <= v.\n",
    "cover": ".decl cover(i: number, n: number)\n.printsize cover\n"
    "cover(i, n) :- iv(i, s, _), n = count : { iv(_, u, v), u <= s, s < v }.\n",
    "genes": ".decl g(c: number, i: number, s: number, t: number)\n"
    "g(i % 24, i, s, t) :- iv(i, s, t).\n" + NEAR + "n(a, b) :- g(c, a, s, t), g(c, b, u, v), "
    "a < b, s <= v, u <= t.\n",
    "calls": RULES,
    "after": ".decl page(u: number, t: number, k: number)\npage(u, t, t % 3) :- event(u, t).\n"
    ".decl after(u: number, a: number, b: number)\n.printsize after\n"
    "after(u, a, b) :- page(u, a, _), b = min t : { page(u, t, _), t > a }.\n",
    # Seconds since 1970, in some years: numbers that are not small.
    "after_late": ".decl late(u: number, t: number, k: number)\n"
    "late(u, t + 2131000000, t % 3) :- event(u, t).\n"
    ".decl after(u: number, a: number, b: number)\n.printsize after\n"
    "after(u, a, b) :- late(u, a, _), b = min t : { late(u, t, _), t > a }.\n",
    "top3": ".decl tx(u: number, y: float, i: number)\n"
    "tx(u, to_float(t) / 7.0, t) :- event(u, t).\n"
    ".decl top(u: number, i: number)\n.printsize top\n"
    "top(u, i) :- tx(u, y, i), count : { tx(u, z, _), z > y } < 3.\n",
    "running": ".decl sale(u: number, t: number, x: number)\n"
    "sale(u % 200, t, (t * 7919) % 1000 - 300) :- event(u, t).\n"
    ".decl total(u: number, t: number, s: number)\n.printsize total\n"
    "total(u, t, s) :- sale(u, t, _), s = sum x : { sale(u, w, x), w <= t }.\n"
    ".decl place(u: number, t: number, n: number)\n.printsize place\n"
    "place(u, t, n) :- sale(u, t, x), n = count : { sale(u, _, y), y > x }.\n",
    "above": ".decl emp(e: number, d: number, s: number)\n"
    "emp(t, u % 100, t % 9973) :- event(u, t).\n.decl above(e: number)\n.printsize above\n"
    "above(e) :- emp(e, d, s), m = max x : { emp(_, d, x) }, s + 50 > m.\n",
    "versions": ".decl doc(v: number, r: number)\n.printsize doc\n"
    "doc(r, r) :- older(_, r), !older(r, _).\ndoc(v, r) :- doc(p, r), older(v, p).\n",
    # A state, and so a tuple, in each of 450,000 rounds.
    "machine": """.decl instr(pc: number, op: symbol, a: number, b: number)
instr(0, "set", 0, 1). instr(1, "set", 1, 0). instr(2, "add", 1, 0). instr(3, "inc", 0, 0).
instr(4, "mod", 1, 9973). instr(5, "jlt", 0, 90000). instr(6, "goto", 2, 0).
.decl st(n: number, pc: number, r: number, s: number)
.printsize st
st(0, 0, 0, 0).
st(n + 1, p + 1, b, s) :- st(n, p, _, s), instr(p, "set", 0, b).
st(n + 1, p + 1, r, b) :- st(n, p, r, _), instr(p, "set", 1, b).
st(n + 1, p + 1, r, s + r) :- st(n, p, r, s), instr(p, "add", 1, 0).
st(n + 1, p + 1, r + 1, s) :- st(n, p, r, s), instr(p, "inc", 0, _).
st(n + 1, p + 1, r, s % m) :- st(n, p, r, s), instr(p, "mod", 1, m).
st(n + 1, p + 1, r, s) :- st(n, p, r, s), instr(p, "jlt", 0, b), r < b.
st(n + 1, q, r, s) :- st(n, p, r, s), instr(p, "goto", q, _).
""",
    # Each column is determined by the next one.
    "taxa": ".decl alike(x: number, y: number)\n.printsize alike\n"
    "alike(x, y) :- seen(x, y), taxon(x, k, c, o, f, _, _), taxon(y, k, c, o, f, _, _).\n",
    # A quarter has no mail, and two fifths no phone.
    "entities": ".decl c(a: number, b: number)\n.printsize c\n"
    "c(a, b) :- person(a, n, _, _), person(b, n, _, _), a < b.\n"
    ".decl alike(a: number, b: number, why: symbol)\n.printsize alike\n"
    'alike(a, b, "mail") :- c(a, b), person(a, _, m, _), person(b, _, m, _).\n'
    'alike(a, b, "phone") :- c(a, b), person(a, _, _, t), person(b, _, _, t), t != 0.\n',
}


def facts() -> Iterator[tuple[str, list[tuple[int, ...]]]]:
    numbers = random.Random(5)
    starts = [numbers.randrange(1_000_000) for _ in range(60_000)]
    yield "iv", [(i, s, s + numbers.randrange(1, 400)) for i, s in enumerate(starts)]
    place = 2_000_000
    points = ((numbers.randrange(place), numbers.randrange(place)) for _ in range(100_000))
    yield "pt", [(i, *point) for i, point in enumerate(points)]
    values = ((numbers.randrange(3000), numbers.randrange(1_000_000)) for _ in range(300_000))
    yield "val", [(i, *value) for i, value in enumerate(values)]
    yield "star", [(x,) for x in range(9000)]
    yield "triple", [tuple(map(numbers.randrange, (9000, 20, 3000))) for _ in range(60_000)]
    yield "word", [(p, int(numbers.paretovariate(0.7)) % 5000) for p in range(200_000)]
    bought = {(t, int(numbers.paretovariate(0.7)) % 3000) for t in range(30_000) for _ in range(20)}
    yield "buys", sorted(bought)
    yield "link", links(numbers)
    events = {(numbers.randrange(2000), numbers.randrange(2_000_000)) for _ in range(250_000)}
    yield "event", sorted(events)
    yield "older", [(v, v - 1) for v in range(1, 600_000) if numbers.random() > 0.14]
    yield "person", people(numbers)
    genera = [int(numbers.paretovariate(0.8)) % 3000 for _ in range(40_000)]
    days = [numbers.randrange(1500) for _ in genera]
    taxa = ((g // 500, g // 100, g // 30, g // 6, g) for g in genera)
    yield "taxon", [(x, *taxon, day) for x, (taxon, day) in enumerate(zip(taxa, days, strict=True))]
    yield "seen", [(numbers.randrange(40_000), numbers.randrange(40_000)) for _ in range(200_000)]


def people(numbers: random.Random) -> list[tuple[int, ...]]:
    """Of which many have neither mail nor phone, which is 0."""

    def known(one_in: float) -> int:
        return numbers.randrange(1, 60_000) if numbers.random() > one_in else 0

    return [(x, numbers.randrange(20_000), known(0.25), known(0.4)) for x in range(60_000)]


def links(numbers: random.Random) -> list[tuple[int, ...]]:
    """Of people, most to those who have many."""
    ends = list(range(50))
    found = set()
    for x in range(50, 15_000):
        for _ in range(10):
            y = numbers.choice(ends)
            found |= {(x, y), (y, x)}
            ends.append(y)
        ends.append(x)
    return sorted(found)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--stratalog", action="append", required=True, metavar="NAME=PATH")
    parser.add_argument("--souffle", help="a souffle program that compiles")
    parser.add_argument("--only", default="", help="programs whose name matches this pattern")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=25)
    parser.add_argument("--scratch", type=Path, default=ROOT / "build" / "bench" / "natural")
    parser.add_argument("--out", type=Path, required=True, help="OUT.md is written")
    options = parser.parse_args()
    scratch: Path = options.scratch
    scratch.mkdir(parents=True, exist_ok=True)
    for name, rows in facts():
        lines = "".join("\t".join(map(str, row)) + "\n" for row in rows)
        (scratch / f"{name}.facts").write_text(lines)
    builds = dict(each.split("=", 1) for each in options.stratalog)
    ways = [f"{name}, {j}" for name in builds for j in options.threads]
    ways += ["Soufflé, 1"] if options.souffle else []
    table = [f"| s | {' | '.join(ways)} |", f"|---|{'--:|' * len(ways)}"]
    for name, rules in PROGRAMS.items():
        if not re.search(options.only, name):
            continue
        file = scratch / f"{name}.dl"
        file.write_text("".join(d for r, d in DECLARED.items() if f"{r}(" in rules) + rules)
        commands = {
            f"{build}, {j}": [path, "run", str(file), "-F", str(scratch), "-q", "-j", str(j)]
            for build, path in builds.items()
            for j in options.threads
        }
        if options.souffle:
            binary = compile_souffle(options.souffle, file, "btree", 1, scratch)
            commands["Soufflé, 1"] = [binary, "-F", str(scratch), "-j", "1"]
        cells = least(commands, options.repeats, options.seconds)
        # Memory would be that of this process, which has made the facts.
        table.append(f"| {name} | {' | '.join(cells[way].split(',')[0] for way in ways)} |")
        print(table[-1], flush=True)
    about = f"{machine()['cpu']}, {machine()['cores']} cores; {' '.join(sys.argv)}\n\n"
    options.out.with_suffix(".md").write_text(about + "\n".join(table) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
