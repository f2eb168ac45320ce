# SPDX-License-Identifier: Apache-2.0
"""Random programs whose recursion only grows: sets, lattices and aggregates that depend on each
other, and rules without recursion above that negate, compare and sum up what came out.

Whatever a program says can only rise, so that it has one least fixpoint, which does not depend on
the order in which anything is derived. Values stay below a bound, so that all programs end. The
same seed gives the same program.
"""

from __future__ import annotations

import random

from growing_rules import (
    Aggregate,
    Atom,
    Comparison,
    Expression,
    Lattice,
    Number,
    Program,
    Relation,
    Rule,
)

NODES = 7
MOST = 40  # no value of a growing lattice is above
BOTTOMS = {"min": 1000, "max": 0, "bor": 0, "band": 63}
ORDERED = ("min", "max")


class GrowingProgramGenerator:
    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.kind = self.random.choice(("number", "number", "unsigned", "float"))
        self.program = Program()
        self.names = 0
        self.edges = self.relation(("number", "number", self.kind), is_input=True)
        self.nodes = self.relation(("number",), is_input=True)
        self.weights = self.relation(("number", self.kind), is_input=True)
        self.sets: list[Relation] = [self.nodes]
        self.pairs: list[Relation] = []
        self.lattices: list[Relation] = []  # of all strata so far
        self.rules: list[Rule] = []

    def generate(self) -> Program:
        for relation in (self.edges, self.nodes, self.weights):
            self.add_facts(relation)
        for _ in range(self.random.choice((1, 1, 2))):
            self.add_recursion()
        self.program.strata.append(self.rules_above())
        return self.program

    # What there is to choose from

    def chance(self, percent: int) -> bool:
        return self.random.randrange(100) < percent

    def number(self, below: int) -> Number:
        value = self.random.randrange(below)
        return value + self.random.choice((0.0, 0.5)) if self.kind == "float" else value

    def as_kind(self, e: Expression) -> Expression:
        """Of a number."""
        return e if self.kind == "number" else (f"to_{self.kind}", e)

    def relation(
        self, kinds: tuple[str, ...], lattice: Lattice | None = None, is_input: bool = False
    ) -> Relation:
        self.names += 1
        relation = Relation(f"r{self.names}", kinds, lattice, is_input)
        self.program.relations.append(relation)
        return relation

    def lattice(self) -> Lattice:
        kinds = ORDERED if self.kind == "float" else tuple(BOTTOMS)
        lub = self.random.choice((*ORDERED, *kinds))
        self.names += 1
        return Lattice(f"L{self.names}", lub, BOTTOMS[lub], self.kind)

    def add_facts(self, relation: Relation) -> None:
        rows: set[tuple[Number, ...]] = set()
        for _ in range(self.random.randint(0 if self.chance(10) else 3, 12)):
            row: list[Number] = [self.random.randrange(NODES) for _ in relation.kinds]
            if relation.kinds[-1] != "number" or len(row) == 3 or relation is self.weights:
                row[-1] = self.number(6)
            rows.add(tuple(row))
        self.program.facts[relation.name] = rows

    # One recursive stratum

    def add_recursion(self) -> None:
        known_sets, known_pairs = list(self.sets), list(self.pairs)
        sets = [self.relation(("number",)) for _ in range(self.random.randint(1, 2))]
        pairs = [self.relation(("number", "number")) for _ in range(self.random.randint(0, 1))]
        lattices = []
        for _ in range(self.random.randint(1, 3)):
            lattice = self.random.choice(
                [x.lattice for x in (*self.lattices, *lattices) if x.lattice] + [None] * 2
            )
            lattice = lattice or self.lattice()
            keys = ("number",) * self.random.choice((1, 1, 2))
            relation = self.relation((*keys, lattice.name), lattice, self.chance(30))
            if relation.is_input:
                self.add_facts(relation)
            lattices.append(relation)
        self.rules = []
        self.sets, self.pairs = known_sets + sets, known_pairs + pairs
        self.lattices += lattices
        for relation in sets:
            self.begin_set(relation, known_sets)
            for _ in range(self.random.randint(1, 3)):
                self.grow_set(relation)
        for relation in pairs:
            self.grow_pairs(relation)
        for relation in lattices:
            self.begin_lattice(relation)
            for _ in range(self.random.randint(1, 3)):
                self.grow_lattice(relation)
        self.program.strata.append(self.rules)

    def rule(self, head: Relation, arguments: tuple[Expression, ...], *body: object) -> None:
        self.rules.append(Rule(head, arguments, body))  # type: ignore[arg-type]

    def begin_set(self, relation: Relation, known: list[Relation]) -> None:
        source = self.random.choice(known)
        comparison = Comparison("x", self.random.choice("<>="), self.random.randrange(NODES))
        self.rule(relation, ("x",), Atom(source, ("x",)), comparison)

    def begin_lattice(self, relation: Relation) -> None:
        assert relation.lattice
        value = ("as", "w", relation.lattice.name)
        if len(relation.kinds) == 2:
            self.rule(relation, ("x", value), Atom(self.weights, ("x", "w")))
        else:
            self.rule(relation, ("x", "y", value), Atom(self.edges, ("x", "y", "w")))

    def an_edge(self, x: str, y: str, weight: str = "_") -> Atom:
        if self.pairs and weight == "_" and self.chance(40):
            return Atom(self.random.choice(self.pairs), (x, y))
        return Atom(self.edges, (x, y, weight))

    def asks_for(self, relation: Relation, *keys: str) -> Atom:
        """That a lattice has reached some value."""
        value = self.random.choice(("_", self.number(12)))
        return Atom(relation, (*keys, *"_" * (len(relation.kinds) - 1 - len(keys)), value))

    def grow_set(self, head: Relation) -> None:
        other = Atom(self.random.choice(self.sets), ("x",))
        way = self.random.randrange(6)
        if way == 0:
            self.rule(head, ("y",), other, self.an_edge("x", "y"))
        elif way == 1:
            lattice = self.random.choice(self.lattices)
            self.rule(head, ("y",), self.an_edge("x", "y"), self.asks_for(lattice, "x"), other)
        elif way == 2:
            lattice = self.random.choice([*self.lattices[-3:], self.lattices[-1]])
            value = self.random.choice(("w", self.number(9)))
            body = [Atom(self.weights, ("x", "w"))] if value == "w" else []
            self.rule(
                head, ("x",), *body, Atom(lattice, ("x", *"_" * (len(lattice.kinds) - 2), value))
            )
        elif way == 3:
            self.compare_lattice(head)
        else:
            self.rule(head, ("x",), other, self.a_condition())

    def compare_lattice(self, head: Relation) -> None:
        """By `>=`, which a value that has risen still satisfies."""
        relation = self.random.choice(self.lattices)
        assert relation.lattice
        if relation.lattice.lub not in ORDERED:
            self.rule(head, ("x",), self.asks_for(relation, "x"))
            return
        symbol = self.random.choice(("<", "<=") if relation.lattice.lub == "min" else (">", ">="))
        atom = Atom(relation, ("x", *"_" * (len(relation.kinds) - 2), "v"))
        self.rule(head, ("x",), atom, Comparison("v", symbol, self.number(9)))

    def a_condition(self) -> Aggregate:
        """On `x`: an aggregate that has got far enough."""
        way = self.random.randrange(4)
        if way == 0:
            body = (Atom(self.edges, ("x", "y", "_")), Atom(self.random.choice(self.sets), ("y",)))
            return Aggregate(self.random.choice((1, 2)), "<=", "count", None, body)
        if way == 1:
            body = (Atom(self.edges, ("y", "x", "w")), Atom(self.random.choice(self.sets), ("y",)))
            return Aggregate(self.number(8), "<", "sum", "w", body)
        relation = self.an_ordered_lattice()
        if relation is None:
            body = (Atom(self.edges, ("x", "y", "_")), Atom(self.random.choice(self.sets), ("y",)))
            return Aggregate(0, "<", "count", None, body)
        assert relation.lattice
        value = Atom(relation, ("y", *"_" * (len(relation.kinds) - 2), "m"))
        body = (Atom(self.edges, ("x", "y", "_")), value)
        if relation.lattice.lub == "min":
            return Aggregate(self.number(9), ">=", "min", "m", body)
        function = "max" if len(relation.kinds) == 3 else self.random.choice(("max", "sum"))
        return Aggregate(self.number(9), "<=", function, "m", body)

    def an_ordered_lattice(self, lub: str | None = None) -> Relation | None:
        lubs = ORDERED if lub is None else (lub,)
        found = [r for r in self.lattices if r.lattice and r.lattice.lub in lubs]
        return self.random.choice(found) if found else None

    def grow_pairs(self, head: Relation) -> None:
        self.rule(head, ("x", "y"), Atom(self.edges, ("x", "y", "_")))
        self.rule(head, ("x", "z"), Atom(head, ("x", "y")), self.an_edge("y", "z"))
        if self.chance(50):
            lattice = self.random.choice(self.lattices)
            self.rule(head, ("y", "x"), Atom(head, ("x", "y")), self.asks_for(lattice, "x"))

    def risen(self, lub: str, value: Expression) -> Expression:
        """What rises where `value` does; `w` is a weight."""
        bit = 1 << self.random.randrange(6)
        choices: dict[str, list[Expression]] = {
            "min": [value, ("+", value, "w"), ("max", value, "w"), ("+", value, self.number(3))],
            "max": [value, ("min", ("+", value, "w"), MOST), ("max", value, "w")],
            "bor": [value, ("bor", value, ("bshl", 1, "w")), ("band", value, 63 - bit)],
            "band": [value, ("band", value, 63 - bit), ("bor", value, ("bshl", 1, "w"))],
        }
        return self.random.choice(choices[lub])

    def grow_lattice(self, head: Relation) -> None:
        assert head.lattice
        way = self.random.randrange(5)
        same = [r for r in self.lattices if r.lattice == head.lattice and r.kinds == head.kinds]
        source = self.random.choice(same)
        keys = ("x",) if len(head.kinds) == 2 else ("x", "u")
        moved = ("y", *keys[1:])
        if way == 0 and head.lattice.lub in ORDERED and len(head.kinds) == 2:
            self.head_of_aggregate(head)
        elif way == 1:
            other = Atom(self.random.choice(same), (*keys[::-1], "v"))
            self.rule(head, (*keys, "v"), Atom(source, (*keys, "v")), other)
        elif way == 2 and len(keys) == 2:
            self.rule(head, ("u", "x", "v"), Atom(source, ("x", "u", "v")))
        elif way == 3:
            given = Atom(self.random.choice(self.sets), ("x",))
            extra = [self.an_edge("x", "u")] if len(keys) == 2 else []
            value = ("as", "w", head.lattice.name)
            self.rule(head, (*keys, value), given, *extra, Atom(self.weights, ("x", "w")))
        else:
            value = self.risen(head.lattice.lub, "v")
            step = Atom(self.edges, ("x", "y", "w" if "w" in str(value) else "_"))
            self.rule(head, (*moved, value), Atom(source, (*keys, "v")), step)

    def head_of_aggregate(self, head: Relation) -> None:
        assert head.lattice
        given = Atom(self.random.choice(self.sets), ("x",))
        name, lub = head.lattice.name, head.lattice.lub
        source = self.an_ordered_lattice(lub)
        counted = (Atom(self.edges, ("x", "y", "_")), Atom(self.random.choice(self.sets), ("y",)))
        if lub == "min":
            if (self.kind == "number" and self.chance(40)) or source is None:
                count = Aggregate("n", "=", "count", None, counted)
                fallen = ("-", 30, "n") if self.kind == "number" else 7
                self.rule(head, ("x", ("as", fallen, name)), given, count)
                return
            value = Atom(source, ("y", *"_" * (len(source.kinds) - 2), "m"))
            least = Aggregate("n", "=", "min", "m", (self.an_edge("x", "y"), value))
            self.rule(head, ("x", ("as", ("+", "n", self.number(3)), name)), given, least)
            return
        if source is None or self.chance(40):
            count = Aggregate("n", "=", "count", None, counted)
            grown = self.as_kind("n")
        else:
            function = self.random.choice(("max", "sum") if len(source.kinds) == 2 else ("max",))
            value = Atom(source, ("y", *"_" * (len(source.kinds) - 2), "m"))
            count = Aggregate("n", "=", function, "m", (Atom(self.edges, ("x", "y", "_")), value))
            grown = "n"
        bounded = ("min", ("+", grown, self.number(3)), MOST)
        self.rule(head, ("x", ("as", bounded, name)), given, count)

    # What reads the finished relations

    def rules_above(self) -> list[Rule]:
        self.rules = []
        for _ in range(self.random.randint(2, 4)):
            self.read_finished(self.random.randrange(6))
        return self.rules

    def read_finished(self, way: int) -> None:
        lattice = self.random.choice(self.lattices)
        assert lattice.lattice
        blanks = tuple("_" * (len(lattice.kinds) - 2))
        a_set = self.relation(("number",))
        x = Atom(self.nodes, ("x",))
        if way == 0:
            negated = Atom(self.random.choice(self.sets), ("x",), is_negated=True)
            self.rule(a_set, ("x",), x, negated)
        elif way == 1:
            count = Aggregate("n", "=", "count", None, (Atom(lattice, ("x", *blanks, "_")),))
            self.rule(a_set, ("n",), x, count)
        elif way == 2:
            total = self.relation(("number", self.kind))
            body = (Atom(self.edges, ("x", "y", "_")), Atom(lattice, ("y", *blanks, "m")))
            function = self.random.choice(("sum", "max", "min"))
            self.rule(total, ("x", "n"), x, Aggregate("n", "=", function, "m", body))
        elif way == 3:
            negated = Atom(lattice, ("x", *blanks, "w"), is_negated=True)
            self.rule(a_set, ("x",), Atom(self.weights, ("x", "w")), negated)
        elif way == 4:
            copied = self.relation(("number", self.kind))
            symbol = self.random.choice(("<", ">", "!="))
            self.rule(
                copied,
                ("x", "v"),
                Atom(lattice, ("x", *blanks, "v")),
                Comparison("v", symbol, self.number(9)),
            )
        else:
            self.rule(a_set, ("x",), self.asks_for(lattice, "x"), x)


def growing_program(seed: int) -> Program:
    return GrowingProgramGenerator(seed).generate()
