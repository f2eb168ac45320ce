# SPDX-License-Identifier: Apache-2.0
"""Rules over sets and lattices, with aggregates in recursion: their text, and what they mean.

`least_fixpoint` is the meaning by the book, in the plainest way: all rules of a stratum over all
that is known, again and again, until nothing changes. It shares nothing with the engine: lattices
are values in a dictionary here, and no rule is rewritten.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

Number = int | float
Expression = Any  # a constant, the name of a variable, or (operator, operand, ...)
Bindings = dict[str, Number]
State = dict[str, dict[tuple[Number, ...], Number | None]]  # values of lattices by their keys

OPERATORS = {
    "+": operator.add,
    "-": operator.sub,
    "min": min,
    "max": max,
    "bor": lambda a, b: int(a) | int(b),
    "band": lambda a, b: int(a) & int(b),
    "bshl": lambda a, b: int(a) << int(b),
}
COMPARISONS = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "=": operator.eq,
    "!=": operator.ne,
}
# What the least upper bound of a lattice has as its greatest lower bound.
BELOW = {"min": "max", "max": "min", "bor": "band", "band": "bor"}


@dataclass(frozen=True)
class Lattice:
    name: str
    lub: str
    bottom: int
    kind: str = "number"

    def text(self) -> str:
        up, down = (
            f"{f}(_, _)" if f in ("min", "max") else f"_ {f} _" for f in (self.lub, BELOW[self.lub])
        )
        return (
            f".type {self.name} <: {self.kind}\n"
            f".lattice {self.name}<> {{ Bottom -> {self.bottom}, Lub -> {up}, Glb -> {down} }}\n"
        )


@dataclass(frozen=True)
class Relation:
    name: str
    kinds: tuple[str, ...]  # with the lattice's name in the last place, if there is one
    lattice: Lattice | None = None
    is_input: bool = False

    def text(self) -> str:
        kinds = list(self.kinds)
        if self.lattice:
            kinds[-1] += "<>"
        columns = ", ".join(f"a{i}: {kind}" for i, kind in enumerate(kinds))
        ways = (".input", ".output") if self.is_input else (".output",)
        io = "".join(f"{way} {self.name}\n" for way in ways)
        return f".decl {self.name}({columns})\n{io}"


@dataclass(frozen=True)
class Atom:
    relation: Relation
    arguments: tuple[Expression, ...]
    is_negated: bool = False

    def text(self) -> str:
        arguments = ", ".join(text_of(a) for a in self.arguments)
        return f"{'!' if self.is_negated else ''}{self.relation.name}({arguments})"


@dataclass(frozen=True)
class Comparison:
    left: Expression
    symbol: str
    right: Expression

    def text(self) -> str:
        return f"{text_of(self.left)} {self.symbol} {text_of(self.right)}"


@dataclass(frozen=True)
class Aggregate:
    """`left symbol function target : { body }`; with `=` a variable on the left gets the value."""

    left: Expression
    symbol: str
    function: str
    target: Expression  # None for count
    body: tuple[Atom, ...]

    def text(self) -> str:
        target = "" if self.target is None else f" {text_of(self.target)}"
        body = ", ".join(literal.text() for literal in self.body)
        return f"{text_of(self.left)} {self.symbol} {self.function}{target} : {{ {body} }}"


@dataclass(frozen=True)
class Rule:
    head: Relation
    arguments: tuple[Expression, ...]
    body: tuple[Atom | Comparison | Aggregate, ...]

    def text(self) -> str:
        head = Atom(self.head, self.arguments).text()
        return f"{head} :- {', '.join(literal.text() for literal in self.body)}.\n"


@dataclass
class Program:
    relations: list[Relation] = field(default_factory=list)
    strata: list[list[Rule]] = field(default_factory=list)
    facts: dict[str, set[tuple[Number, ...]]] = field(default_factory=dict)

    def text(self) -> str:
        lattices = {r.lattice.name: r.lattice for r in self.relations if r.lattice}
        parts = [lattice.text() for lattice in lattices.values()]
        parts += [relation.text() for relation in self.relations]
        parts += [rule.text() for rules in self.strata for rule in rules]
        return "".join(parts)


def text_of(e: Expression) -> str:
    if not isinstance(e, tuple):
        return str(e)
    name, *operands = e
    if name == "as":
        return f"as({text_of(operands[0])}, {operands[1]})"
    words = [text_of(x) for x in operands]
    if name in ("min", "max") or name.startswith("to_"):
        return f"{name}({', '.join(words)})"
    return f"({f' {name} '.join(words)})"


def value_of(e: Expression, bindings: Bindings) -> Number:
    if isinstance(e, str):
        return bindings[e]
    if not isinstance(e, tuple):
        return e  # type: ignore[no-any-return]
    name, *operands = e
    if name == "to_float":
        return float(value_of(operands[0], bindings))
    if name == "as" or name.startswith("to_"):
        return value_of(operands[0], bindings)
    return OPERATORS[name](*(value_of(x, bindings) for x in operands))  # type: ignore[no-any-return]


def names_in(e: Expression) -> set[str]:
    if isinstance(e, str):
        return {e}
    return {x for part in e[1:] for x in names_in(part)} if isinstance(e, tuple) else set()


def matches(atom: Atom, state: State, bindings: Bindings) -> Iterator[tuple[Bindings, Number]]:
    """Ways to satisfy what is no value of a lattice in an atom, and that value (0 without)."""
    arguments = atom.arguments[:-1] if atom.relation.lattice else atom.arguments
    for key, value in state[atom.relation.name].items():
        found = dict(bindings)
        for argument, cell in zip(arguments, key, strict=True):
            if argument == "_":
                continue
            if isinstance(argument, str):
                if found.setdefault(argument, cell) != cell:
                    break
            elif argument != cell:
                break
        else:
            yield found, 0 if value is None else value


class _Solutions:
    """Of atoms joined from the left; values of lattices are gathered, and looked at afterwards."""

    def __init__(self, atoms: list[Atom], state: State) -> None:
        self.atoms, self.state = atoms, state

    def all(self, bindings: Bindings) -> Iterator[Bindings]:
        for found, values in self.joined(0, bindings, []):
            merged = self.merged(found, values)
            if merged is not None:
                yield merged

    def joined(
        self, at: int, bindings: Bindings, values: list[tuple[Lattice, Expression, Number]]
    ) -> Iterator[tuple[Bindings, list[tuple[Lattice, Expression, Number]]]]:
        if at == len(self.atoms):
            yield bindings, values
            return
        atom = self.atoms[at]
        for found, value in matches(atom, self.state, bindings):
            lattice = atom.relation.lattice
            more = [] if lattice is None else [(lattice, atom.arguments[-1], value)]
            yield from self.joined(at + 1, found, values + more)

    @staticmethod
    def merged(
        found: Bindings, values: list[tuple[Lattice, Expression, Number]]
    ) -> Bindings | None:
        result = dict(found)
        unknown: dict[str, list[tuple[Lattice, Number]]] = {}
        for lattice, argument, value in values:
            if argument == "_":
                continue
            if isinstance(argument, str) and argument not in found:
                unknown.setdefault(argument, []).append((lattice, value))
                continue
            known = value_of(argument, found)
            if OPERATORS[BELOW[lattice.lub]](value, known) != known:
                return None
        for name, several in unknown.items():
            lattice, below = several[0]
            for _, value in several[1:]:
                below = OPERATORS[BELOW[lattice.lub]](below, value)
            if len(several) > 1 and below == lattice.bottom:
                return None
            result[name] = below
        return result


def aggregate_value(aggregate: Aggregate, state: State, bindings: Bindings) -> Number | None:
    """None where there is none."""
    own = names_in(aggregate.target)
    outside = {name: value for name, value in bindings.items() if name not in own}
    atoms = list(aggregate.body)
    if len(atoms) == 1:  # what `_` stands for tells values apart
        named = tuple(f"_{i}" if a == "_" else a for i, a in enumerate(atoms[0].arguments))
        atoms = [Atom(atoms[0].relation, named)]
    solutions = {tuple(sorted(s.items())) for s in _Solutions(atoms, state).all(outside)}
    if aggregate.function == "count":
        return len(solutions)
    values = [value_of(aggregate.target, dict(s)) for s in solutions]
    if aggregate.function == "sum":
        return sum(values)
    if not values:
        return None
    return min(values) if aggregate.function == "min" else max(values)


def satisfies(
    literal: Atom | Comparison | Aggregate, state: State, bindings: Bindings
) -> Bindings | None:
    """The bindings, and what an aggregate gives a value to; None where the literal fails."""
    if isinstance(literal, Comparison):
        left, right = (value_of(e, bindings) for e in (literal.left, literal.right))
        return bindings if COMPARISONS[literal.symbol](left, right) else None
    if isinstance(literal, Aggregate):
        value = aggregate_value(literal, state, bindings)
        if value is None:
            return None
        if isinstance(literal.left, str) and literal.left not in bindings:
            return {**bindings, literal.left: value}
        left = value_of(literal.left, bindings)
        return bindings if COMPARISONS[literal.symbol](left, value) else None
    found = [value for _, value in matches(literal, state, bindings)]
    lattice = literal.relation.lattice
    if not found or lattice is None or literal.arguments[-1] == "_":
        return None if found else bindings
    known = value_of(literal.arguments[-1], bindings)
    # One value is enough, as in Soufflé: a `_` among the keys stands for several.
    is_low = any(OPERATORS[BELOW[lattice.lub]](x, known) == lattice.bottom for x in found)
    return bindings if is_low else None


def derived_by(rule: Rule, state: State) -> Iterator[tuple[Number, ...]]:
    atoms = [x for x in rule.body if isinstance(x, Atom) and not x.is_negated]
    rest = [x for x in rule.body if not (isinstance(x, Atom) and not x.is_negated)]
    # Values first that others are compared with.
    rest.sort(key=lambda x: not isinstance(x, Aggregate))
    for solution in _Solutions(atoms, state).all({}):
        bindings: Bindings | None = solution
        for literal in rest:
            bindings = satisfies(literal, state, bindings) if bindings is not None else None
        if bindings is not None:
            yield tuple(value_of(e, bindings) for e in rule.arguments)


def add(relation: Relation, row: tuple[Number, ...], state: State) -> bool:
    """Whether the relation has grown."""
    rows = state[relation.name]
    if relation.lattice is None:
        is_new = row not in rows
        rows[row] = None
        return is_new
    key, value = row[:-1], row[-1]
    before = rows.get(key)
    rows[key] = value if before is None else OPERATORS[relation.lattice.lub](before, value)
    return rows[key] != before


def least_fixpoint(program: Program) -> State:
    state: State = {relation.name: {} for relation in program.relations}
    for relation in program.relations:
        for row in program.facts.get(relation.name, ()):
            add(relation, row, state)
    for rules in program.strata:
        has_grown = True
        while has_grown:
            rows = [(rule.head, row) for rule in rules for row in derived_by(rule, state)]
            changes = [add(head, row, state) for head, row in rows]
            has_grown = any(changes)
    return state


def rows_of(relation: Relation, state: State) -> set[tuple[Number, ...]]:
    """As an output holds them."""
    rows = state[relation.name]
    if relation.lattice is None:
        return set(rows)
    return {(*key, value) for key, value in rows.items() if value is not None}
