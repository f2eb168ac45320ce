# SPDX-License-Identifier: Apache-2.0
"""Random programs with what makes Soufflé's dialect rich: records, lists, algebraic types, eqrel,
subsumption, choices, nested aggregates, functors on strings, inline relations and components.

Relations are made one after the other; the rules of one read those before it and, in a recursion,
those of its own group. Numbers made by rules stay small, strings short, and nothing that a
recursion makes nests deeper than what it reads, so that all programs end. Facts are in the program
and in files. The same seed gives the same program.
"""

from __future__ import annotations

import random
import re
from dataclasses import dataclass, field

SYMBOLS = ("a", "b", "ab", "ba", "abc", "c d", "x,y", "7", "-3", "é", "[1]")
# Features that are seen in a program's text.
IN_TEXT = {
    "aggregates": r" : \{",
    "nested aggregates": r" : \{[^}]*\{",
    "disjunction": r" ; ",
    "strings": r"\b(cat|substr|strlen|to_string|match|contains)\(",
    "negation": r"!\w+[.\w]*\(",
}
PATTERNS = ("a.*", ".*b", "[ab]+", "", "a|b", ".", "[0-9]+")


@dataclass(frozen=True)
class Type:
    name: str
    kind: str  # number, unsigned, float, symbol, record or adt
    fields: tuple[Type, ...] = ()  # of a record; the type itself is None in a list, as in a branch
    branches: tuple[tuple[str, tuple[Type | None, ...]], ...] = ()
    is_list: bool = False  # [head, tail]; `fields` has the head only

    def parts(self) -> tuple[Type, ...]:
        return (*self.fields, self) if self.is_list else self.fields

    def nests(self) -> bool:
        """Whether values hold others of the same type."""
        return self.is_list or any(f is None for _, fields in self.branches for f in fields)

    def text(self) -> str:
        if self.kind == "record":
            fields = ", ".join(f"f{i}: {part.name}" for i, part in enumerate(self.parts()))
            return f".type {self.name} = [{fields}]\n"
        branches = []
        for name, fields_of_branch in self.branches:
            fields = ", ".join(
                f"f{i}: {(part or self).name}" for i, part in enumerate(fields_of_branch)
            )
            branches.append(f"{name} {{{fields}}}")
        return f".type {self.name} = {' | '.join(branches)}\n"


NUMBER, UNSIGNED = Type("number", "number"), Type("unsigned", "unsigned")
FLOAT, SYMBOL = Type("float", "float"), Type("symbol", "symbol")
PLAIN = (NUMBER, UNSIGNED, FLOAT, SYMBOL)
COUNTED = (NUMBER, UNSIGNED, FLOAT)


@dataclass
class Relation:
    name: str
    types: tuple[Type, ...]
    scope: str = ""  # of the component's instance
    is_inline: bool = False


@dataclass
class Choice:
    """What a relation with a choice-domain chose from, and by which columns, to be checked."""

    relation: str
    candidates: str
    keys: tuple[tuple[int, ...], ...]
    step: str = ""  # edges of a recursion from tuple to tuple: `relation(y, z) :- _(_, y), step`


@dataclass
class RichProgram:
    text: str = ""
    fact_files: dict[str, str] = field(default_factory=dict)
    choices: list[Choice] = field(default_factory=list)
    features: set[str] = field(default_factory=set)


Variables = dict[str, Type]


class RichProgramGenerator:
    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.program = RichProgram()
        self.out: list[str] = []
        self.outputs: list[str] = []
        self.names = 0
        self.scope = ""
        # Few types, so that most relations can be joined.
        self.prims = [NUMBER, self.random.choice((NUMBER, SYMBOL, SYMBOL, UNSIGNED, FLOAT))]
        self.structures: list[Type] = []
        self.relations: list[Relation] = []
        self.parameter: Type | None = None  # of the component being written: this type is `T` there

    def generate(self) -> RichProgram:
        for _ in range(self.random.choice((1, 1, 2, 3))):
            self.add_structure()
        for _ in range(self.random.randint(1, 3)):
            self.add_input()
        if self.structures:
            self.add_facts(self.declare(self.some_types(2, with_structure=True)))
        blocks = [
            self.add_layer, self.add_layer, self.add_recursion, self.add_eqrel,
            self.add_subsumption, self.add_choice, self.add_inline, self.add_component,
            self.add_best_path, self.add_lists,
        ]  # fmt: skip
        for _ in range(self.random.randint(2, 5)):
            self.random.choice(blocks)()
        self.out.append("".join(f".output {name}\n" for name in self.outputs))
        self.program.text = "".join(self.out)
        self.program.features |= {
            name for name, words in IN_TEXT.items() if re.search(words, self.program.text)
        }
        return self.program

    # Choosing

    def chance(self, percent: int) -> bool:
        return self.random.randrange(100) < percent

    def fresh(self, prefix: str) -> str:
        self.names += 1
        return f"{prefix}{self.names}"

    def feature(self, name: str) -> None:
        self.program.features.add(name)

    # Types and relations

    def add_structure(self) -> None:
        name, way = self.fresh("T"), self.random.randrange(5)
        known = [*self.prims, *self.structures]
        pick = self.random.choice
        if way == 0:
            made = Type(
                name, "record", tuple(pick(known) for _ in range(self.random.randint(1, 3)))
            )
            self.feature("records")
        elif way == 1:
            made = Type(name, "record", (pick(known),), is_list=True)
            self.feature("lists")
        elif way == 2:
            branches = tuple((self.fresh("B"), ()) for _ in range(self.random.randint(2, 4)))
            made = Type(name, "adt", branches=branches)
            self.feature("enumerations")
        else:
            parts: list[tuple[str, tuple[Type | None, ...]]] = [
                (self.fresh("B"), (pick(self.prims),))
            ]
            for _ in range(self.random.randint(1, 3)):
                fields = [pick([*known, None, None]) for _ in range(self.random.randint(0, 3))]
                parts.append((self.fresh("B"), tuple(fields)))
            made = Type(name, "adt", branches=tuple(parts))
            self.feature("algebraic types")
        self.structures.append(made)
        self.out.append(made.text())

    def some_types(self, most: int, with_structure: bool = False) -> tuple[Type, ...]:
        known = [*self.prims, *self.structures]
        types = [self.random.choice(known) for _ in range(self.random.randint(1, most))]
        if with_structure and self.structures:
            types[0] = self.random.choice(self.structures)
        return tuple(types)

    def declare(
        self, types: tuple[Type, ...], qualifiers: str = "", is_known: bool = True
    ) -> Relation:
        relation = Relation(self.fresh("r"), types, self.scope, qualifiers == "inline")
        names = ["T" if t is self.parameter else t.name for t in types]
        columns = ", ".join(f"a{i}: {name}" for i, name in enumerate(names))
        self.out.append(f".decl {relation.name}({columns}) {qualifiers}".rstrip() + "\n")
        if not relation.is_inline:
            self.outputs.append(self.full_name(relation))
        if is_known:
            self.relations.append(relation)
        return relation

    def full_name(self, relation: Relation) -> str:
        return f"{relation.scope}.{relation.name}" if relation.scope else relation.name

    def ref(self, relation: Relation) -> str:
        return relation.name if relation.scope == self.scope else self.full_name(relation)

    def add_input(self) -> None:
        relation = self.declare(self.some_types(3))
        self.out.append(f".input {relation.name}\n")
        rows = {
            "\t".join(self.constant(t, 0, in_file=True).replace("()", "") for t in relation.types)
            for _ in range(self.random.randint(2, 14))
        }
        self.program.fact_files[f"{relation.name}.facts"] = "".join(f"{r}\n" for r in sorted(rows))

    def add_facts(self, relation: Relation) -> None:
        for _ in range(self.random.randint(2, 8)):
            values = ", ".join(self.constant(t, 2) for t in relation.types)
            self.out.append(f"{relation.name}({values}).\n")

    # Terms

    def constant(self, t: Type, depth: int, in_file: bool = False) -> str:
        if t.kind in ("number", "unsigned"):
            low = -2 if t.kind == "number" and self.chance(20) else 0
            return str(self.random.randint(low, 6))
        if t.kind == "float":
            return str(self.random.randint(-4, 12) / 4)
        if t.kind == "symbol":
            # Commas and brackets end a symbol in the text of a record.
            words = [w for w in SYMBOLS if not (in_file and set(w) & set(",[] "))]
            return self.random.choice(words) if in_file else f'"{self.random.choice(words)}"'
        return self.structure(t, depth, lambda part, d: self.constant(part, d, in_file))

    def structure(self, t: Type, depth: int, part: object) -> str:
        assert callable(part)
        if t.kind == "record":
            if (depth <= 0 and t.is_list) or self.chance(15):
                return "nil"
            return f"[{', '.join(part(p, depth - 1) for p in t.parts())}]"
        branches = [b for b in t.branches if depth > 0 or None not in b[1]]
        name, fields = self.random.choice(branches)
        inner = ", ".join(part(f or t, depth - 1) for f in fields)
        return f"${name}({inner})"

    def of_type(self, t: Type, variables: Variables) -> list[str]:
        return [name for name, kind in variables.items() if kind == t]

    def term(self, t: Type, variables: Variables, depth: int, may_nest: bool) -> str:
        """An expression of grounded variables; nothing nests deeper unless it may."""
        known = self.of_type(t, variables)
        if known and (depth <= 0 or self.chance(55)):
            return self.random.choice(known)
        if depth <= 0 or self.chance(20):
            return self.constant(t, 1)
        if t in PLAIN:
            return self.computed(t, variables, depth - 1)
        if t.nests() and not may_nest:
            return self.random.choice(known) if known else self.constant(t, 1)
        return self.structure(t, 1, lambda part, _: self.term(part, variables, depth - 1, may_nest))

    def computed(self, t: Type, variables: Variables, depth: int) -> str:
        def one(kind: Type) -> str:
            return self.term(kind, variables, depth, False)

        pick = self.random.choice
        if t == FLOAT:
            return f"{pick(('min', 'max'))}({one(FLOAT)}, {one(FLOAT)})"
        if t == SYMBOL:
            return pick((
                lambda: f"substr(cat({one(SYMBOL)}, {one(SYMBOL)}), 0, 3)",
                lambda: f"substr({one(SYMBOL)}, {self.random.randint(0, 2)}, {one(NUMBER)})",
                lambda: f"to_string({one(NUMBER)})",
                lambda: f"{pick(('min', 'max'))}({one(SYMBOL)}, {one(SYMBOL)})",
                lambda: f"substr({one(SYMBOL)} + {one(SYMBOL)}, 0, 2)",
            ))()  # fmt: skip
        ways = [
            lambda: f"({one(t)} {pick('+*')} {one(t)}) % {self.random.randint(3, 11)}",
            lambda: f"{pick(('min', 'max'))}({one(t)}, {one(t)})",
            lambda: f"({one(t)} {pick(('band', 'bor', 'bxor'))} {one(t)})",
            lambda: f"({one(t)} / {self.random.randint(1, 3)})",
        ]
        if t == NUMBER:
            ways += [
                lambda: f"({one(t)} - {one(t)}) % {self.random.randint(3, 11)}",
                lambda: f"strlen({one(SYMBOL)})",
                lambda: f"to_number(to_string({one(NUMBER)}))",
                lambda: f"(-{one(NUMBER)}) % 5",
                lambda: f"({one(NUMBER)} {pick(('land', 'lor', 'lxor'))} {one(NUMBER)})",
            ]
        return pick(ways)()

    # Bodies

    def pattern(
        self, t: Type, variables: Variables, found: Variables, depth: int, where: str = "atom"
    ) -> str:
        """An argument of a positive atom; new variables go to `found`. `where` keeps away what
        Soufflé cannot translate: in an "aggregate" patterns of structures, in a "named" one (of
        several atoms, or around another one) `_` as well, in an "equation" all but variables; in
        rules that are inlined ("inline") `_`, which it takes for the one around the atom."""
        known = [*self.of_type(t, variables), *self.of_type(t, found)]
        roll = self.random.randrange(100)
        if t not in PLAIN and depth > 0 and roll < 40 and where in ("atom", "inline"):
            return self.structure(
                t, 1, lambda part, _: self.pattern(part, variables, found, depth - 1, where)
            )
        if known and roll < 60:
            return self.random.choice(known)
        if roll < 70 and where in ("atom", "aggregate"):
            return "_"
        if 70 <= roll < 76 and where != "equation":
            return self.constant(t, 1)
        name = self.fresh("x")
        found[name] = t
        return name

    def atom(self, relation: Relation, variables: Variables, where: str = "atom") -> str:
        found: Variables = {}
        arguments = [self.pattern(t, variables, found, 2, where) for t in relation.types]
        variables.update(found)
        return f"{self.ref(relation)}({', '.join(arguments)})"

    def negated(self, relation: Relation, variables: Variables, where: str = "atom") -> str:
        arguments = []
        for t in relation.types:
            depth = 1 if where == "atom" or t in PLAIN else 0
            blank = self.chance(20) and where != "named"
            arguments.append("_" if blank else self.term(t, variables, depth, True))
        return f"!{self.ref(relation)}({', '.join(arguments)})"

    def readable(self) -> list[Relation]:
        """Relations that may stand under a negation or in an aggregate, in Soufflé too."""
        return [r for r in self.relations if not r.is_inline]

    def constraint(self, variables: Variables) -> str:
        t = self.random.choice(list(variables.values()) or self.prims)
        known = self.of_type(t, variables)
        left = self.random.choice(known) if known else self.constant(t, 1)
        right = self.term(t, variables, 1, True)
        if t not in PLAIN:
            symbol = "!=" if right not in variables or self.chance(50) else "="
            return f"{left} {symbol} {right}"
        if t == SYMBOL and self.chance(40):
            bang = "!" if self.chance(30) else ""
            if self.chance(50):
                return f'{bang}match("{self.random.choice(PATTERNS)}", {left})'
            return f"{bang}contains({left}, {right})"
        return f"{left} {self.random.choice(('<', '<=', '>', '>=', '=', '!='))} {right}"

    def aggregate(self, outside: Variables, depth: int) -> tuple[str, Type]:
        """Its text and the type of its value."""
        inside: Variables = {}
        given = dict(outside) if self.chance(50) else {}
        scope = dict(given)
        many, has_inner = self.random.choice((1, 1, 2)), bool(depth) and self.chance(35)
        where = "named" if many > 1 or has_inner else "aggregate"
        body = [self.atom(self.random.choice(self.readable()), scope, where) for _ in range(many)]
        inside = {x: t for x, t in scope.items() if x not in given}
        if self.chance(30):
            body.append(self.constraint(scope))
        if self.chance(15):
            body.append(self.negated(self.random.choice(self.readable()), scope, where))
        if has_inner:
            inner, t = self.aggregate(scope, depth - 1)
            symbol = self.random.choice(("<", "<=", ">", ">=", "!=", "="))
            name = self.fresh("n")
            body.append(f"{name} = {inner}, {name} {symbol} {self.constant(t, 0)}")
            inside[name] = t
        targets = [x for x, t in inside.items() if t in COUNTED]
        if not targets or self.chance(30):
            return f"count : {{ {', '.join(body)} }}", NUMBER
        target = self.random.choice(targets)
        t = inside[target]
        function = self.random.choice(
            ("sum", "min", "max", "mean") if t == FLOAT else ("sum", "min", "max")
        )
        return f"{function} {target} : {{ {', '.join(body)} }}", t

    def body(
        self, sources: list[Relation], recursive: list[Relation]
    ) -> tuple[list[str], Variables]:
        variables: Variables = {}
        literals = []
        for i in range(self.random.choice((1, 1, 2, 2, 3))):
            from_own = recursive and (i == 0 or self.chance(15))
            literals.append(
                self.atom(self.random.choice(recursive if from_own else sources), variables)
            )
        known = dict(variables)
        for _ in range(self.random.choice((0, 0, 0, 1, 1))):
            literals.append(self.constraint(known))
        if self.chance(25):
            literals.append(self.negated(self.random.choice(self.readable_below(recursive)), known))
        if self.chance(12):
            literals.append(f"({self.constraint(known)} ; {self.constraint(known)})")
        if self.chance(15):
            t = self.random.choice([*self.prims, *self.structures])
            name, made = self.fresh("z"), self.term(t, known, 2, not recursive)
            if "nil" not in made:  # of no type there, says Soufflé
                literals.append(f"{name} = {made}")
                variables[name] = t
        if self.chance(12) and self.of_type(NUMBER, known):
            name = self.fresh("z")
            literals.append(f"{name} = range(0, {self.random.choice(self.of_type(NUMBER, known))})")
            variables[name] = NUMBER
        records = [x for x, t in known.items() if t.kind == "record"]
        if records and self.chance(20):
            x = self.random.choice(records)
            others = {name: t for name, t in known.items() if name != x}
            found: Variables = {}
            parts = [self.pattern(t, others, found, 0, "equation") for t in known[x].parts()]
            literals.append(f"{x} = [{', '.join(parts)}]")
            variables.update(found)
        if not recursive and self.chance(35):
            text, t = self.aggregate(known, 1)
            name = self.fresh("n")
            literals.append(f"{name} = {text}")
            variables[name] = t
        return literals, variables

    def readable_below(self, recursive: list[Relation]) -> list[Relation]:
        return [r for r in self.readable() if r not in recursive]

    def rule(self, head: Relation, recursive: list[Relation], indent: str = "") -> None:
        sources = [r for r in self.relations if r not in recursive and r is not head]
        for _ in range(6):  # rather not a head of constants only
            literals, variables = self.body(sources, recursive)
            if set(head.types) <= set(variables.values()):
                break
        arguments = [self.term(t, variables, 2, not recursive) for t in head.types]
        self.out.append(
            f"{indent}{self.ref(head)}({', '.join(arguments)}) :- {', '.join(literals)}.\n"
        )

    # What a program is made of

    def add_layer(self) -> None:
        relation = self.declare(self.some_types(3, self.chance(50)), is_known=False)
        for _ in range(self.random.randint(1, 3)):
            self.rule(relation, [])
        self.relations.append(relation)

    def add_recursion(self) -> None:
        types = self.some_types(2, self.chance(40))
        members = [
            self.declare(types, is_known=False) for _ in range(self.random.choice((1, 1, 2)))
        ]
        for member in members:
            self.rule(member, [])
        self.relations += members
        for member in members:
            for _ in range(self.random.randint(1, 2)):
                self.rule(member, members)

    def add_eqrel(self) -> None:
        self.feature("eqrel")
        t = self.some_types(1, self.chance(30))[0]
        relation = self.declare((t, t), "eqrel", is_known=False)
        for _ in range(self.random.randint(1, 2)):
            self.rule(relation, [])
        self.relations.append(relation)
        if self.chance(50):
            self.rule(relation, [relation])

    def add_inline(self) -> None:
        if self.scope:
            return
        self.feature("inline")
        relation = self.declare(self.some_types(2), "inline", is_known=False)
        for _ in range(self.random.randint(1, 2)):
            variables: Variables = {}
            literals = [
                self.atom(self.random.choice(self.readable()), variables, "inline")
                for _ in range(self.random.randint(1, 2))
            ]
            if self.chance(40):
                literals.append(self.constraint(variables))
            arguments = [self.term(t, variables, 1, True) for t in relation.types]
            head = f"{relation.name}({', '.join(arguments)})"
            self.out.append(f"{head} :- {', '.join(literals)}.\n")
        self.relations.append(relation)
        user = self.declare(self.some_types(2), is_known=False)
        variables = {}
        literals = [
            self.atom(relation, variables),
            self.atom(self.random.choice(self.readable()), variables),
        ]
        arguments = [self.term(t, variables, 1, True) for t in user.types]
        self.out.append(f"{user.name}({', '.join(arguments)}) :- {', '.join(literals)}.\n")
        self.relations.append(user)

    def add_subsumption(self) -> None:
        """Of what rules without recursion derive: what is left does not depend on any order."""
        self.feature("subsumption")
        t = self.random.choice([*self.prims, *self.structures])
        relation = self.declare((t, NUMBER, NUMBER), is_known=False)
        for _ in range(self.random.randint(1, 2)):
            self.rule(relation, [])
        name = relation.name
        rules = (
            f"{name}(k, a, b) <= {name}(k, c, d) :- c <= a, d <= b.\n",
            f"{name}(k, a, _) <= {name}(k, c, _) :- a < c.\n",
            f"{name}(k, a, b) <= {name}(k, a, d) :- b < d.\n",
            f"{name}(_, a, b) <= {name}(_, c, d) :- c < a, b < d.\n",
            f"{name}(k, a, b) <= {name}(k, c, d) :- a + b < c + d.\n",
            f"{name}(k, a, b) <= {name}(k, c, d) :- (a < c ; a = c, b < d).\n",
        )
        self.out.append(self.random.choice(rules))
        self.relations.append(relation)

    def some_edges(self) -> tuple[Relation, int, int] | None:
        """A relation with two columns of one type without structure, and these columns."""
        found = [
            (r, i, j)
            for r in self.readable()
            for i in range(len(r.types))
            for j in range(i + 1, len(r.types))
            if r.types[i] == r.types[j] and r.types[i] in (NUMBER, SYMBOL)
        ]
        return self.random.choice(found) if found else None

    def edge_atom(self, edges: tuple[Relation, int, int], x: str, y: str) -> str:
        relation, i, j = edges
        cells = ["_"] * len(relation.types)
        cells[i], cells[j] = x, y
        return f"{self.ref(relation)}({', '.join(cells)})"

    def add_best_path(self) -> None:
        """Subsumption in recursion: all that follows from a dominated tuple is dominated."""
        edges = self.some_edges()
        if edges is None:
            return
        self.feature("subsumption in recursion")
        t = edges[0].types[edges[1]]
        relation = self.declare((t, t, NUMBER, NUMBER), is_known=False)
        step, first = self.edge_atom(edges, "y", "z"), self.edge_atom(edges, "x", "y")
        length = "strlen(z)" if t == SYMBOL else "(z % 3 + 3) % 3"
        name = relation.name
        self.out.append(f"{name}(x, y, 1, 0) :- {first}.\n")
        more = f"a + 1, b + {length}"
        self.out.append(f"{name}(x, z, {more}) :- {name}(x, y, a, b), {step}, a < 12.\n")
        rules = (
            f"{name}(x, y, a, b) <= {name}(x, y, c, d) :- c <= a, d <= b.\n",
            f"{name}(x, y, a, b) <= {name}(x, y, c, d) :- c < a.\n"
            f"{name}(x, y, a, b) <= {name}(x, y, a, d) :- d < b.\n",
        )
        self.out.append(self.random.choice(rules))
        self.relations.append(relation)

    def add_choice(self) -> None:
        """Relations that nobody reads, as their answers are not unique."""
        if self.scope:
            return
        self.feature("choice-domain")
        edges = self.some_edges()
        if edges is not None and self.chance(50):
            t = edges[0].types[edges[1]]
            steps = self.declare((t, t))
            self.out.append(f"{steps.name}(x, y) :- {self.edge_atom(edges, 'x', 'y')}.\n")
            roots = self.declare((t, t))
            self.out.append(
                f"{roots.name}(x, x) :- {steps.name}(x, _), x = min(x, {self.constant(t, 0)}).\n"
            )
            tree = self.declare((t, t), "choice-domain a1", is_known=False)
            self.out.append(f"{tree.name}(x, y) :- {roots.name}(x, y).\n")
            self.out.append(f"{tree.name}(y, z) :- {tree.name}(_, y), {steps.name}(y, z).\n")
            self.program.choices.append(Choice(tree.name, roots.name, ((1,),), steps.name))
            return
        types = (*self.some_types(2, True), self.random.choice(self.prims))
        candidates = self.declare(types)
        self.relations.remove(candidates)
        for _ in range(self.random.randint(1, 2)):
            self.rule(candidates, [])
        self.relations.append(candidates)
        many = len(types)
        keys = [
            tuple(sorted(self.random.sample(range(many), self.random.randint(1, many))))
            for _ in range(self.random.randint(1, 2))
        ]
        domain = ", ".join(
            f"({', '.join(f'a{i}' for i in key)})" if len(key) > 1 else f"a{key[0]}" for key in keys
        )
        chosen = self.declare(types, f"choice-domain {domain}", is_known=False)
        names = ", ".join(f"x{i}" for i in range(many))
        self.out.append(f"{chosen.name}({names}) :- {candidates.name}({names}).\n")
        self.program.choices.append(Choice(chosen.name, candidates.name, tuple(keys)))

    def add_lists(self) -> None:
        """Values that a recursion nests, up to a depth."""
        lists = [t for t in self.structures if t.is_list or t.nests()]
        numbers = [r for r in self.readable() if NUMBER in r.types]
        if not lists or not numbers:
            return
        self.feature("nesting recursion")
        t, source = self.random.choice(lists), self.random.choice(numbers)
        relation = self.declare((t, NUMBER), is_known=False)
        name = relation.name
        self.out.append(f"{name}({self.constant(t, 0)}, 0).\n")
        cells = ["_"] * len(source.types)
        cells[source.types.index(NUMBER)] = "x"
        variables: Variables = {"x": NUMBER, "l": t}
        nested = self.structure(t, 1, lambda part, _: self.term(part, variables, 1, False))
        atom = f"{self.ref(source)}({', '.join(cells)})"
        self.out.append(f"{name}({nested}, n + 1) :- {name}(l, n), {atom}, x < 4, n < 3.\n")
        self.relations.append(relation)

    def add_component(self) -> None:
        if self.scope:
            return
        self.feature("components")
        base, derived, instance = self.fresh("C"), self.fresh("D"), self.fresh("i")
        outer = list(self.relations)
        self.parameter = self.random.choice([*self.prims, *self.structures])
        given = self.parameter.name
        self.scope = instance
        self.out.append(f".comp {base}<T> {{\n")
        overridable = self.declare(self.some_types(2), "overridable", is_known=False)
        self.rule(overridable, [], "  ")
        self.relations.append(overridable)
        for _ in range(self.random.randint(1, 2)):
            self.random.choice((self.add_layer, self.add_recursion, self.add_eqrel))()
        self.out.append("}\n")
        if self.chance(60):
            self.out.append(f".comp {derived}<T> : {base}<T> {{\n.override {overridable.name}\n")
            inside, self.relations = self.relations, outer
            self.rule(overridable, [], "  ")
            self.relations = list(inside)
            if self.chance(60):
                self.add_layer()
            self.out.append("}\n")
            base = derived
        self.out.append(f".init {instance} = {base}<{given}>\n")
        self.scope, self.parameter = "", None


def rich_program(seed: int) -> RichProgram:
    return RichProgramGenerator(seed).generate()
