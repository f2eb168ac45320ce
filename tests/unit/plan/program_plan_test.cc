// SPDX-License-Identifier: Apache-2.0
// The order of literals, set-at-a-time rules, and the whole plan as `explain` prints it.
#include "datalog/plan/program_plan.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "datalog/plan/literal_order.h"
#include "unit/plan/planned_text.h"

namespace stratalog::datalog {
namespace {

constexpr const char* kRelations =
    ".decl e(x: number, y: number)\n.input e\n.decl f(x: number, y: number)\n.input f\n"
    ".decl big(x: number, y: number)\n.input big\n.decl p(x: number, y: number)\n";

RelationStatistics known(std::uint64_t rows, std::vector<std::uint64_t> distinct) {
  return {.known = true, .rows = rows, .distinct = std::move(distinct)};
}

// The literals of the only rule of p in the order of evaluation.
std::string order_of(const std::string& rule, std::vector<RelationStatistics> statistics = {}) {
  const Program program = compiled(kRelations + rule);
  statistics.resize(program.relations.size());
  const auto order = order_literals(body_of(program.rules.back(), statistics), std::nullopt);
  EXPECT_TRUE(order.is_ok()) << order.status().to_string();
  if (!order.is_ok()) return {};
  std::string text;
  for (const OrderedLiteral& placed : order.value()) {
    const Literal& literal = program.rules.back().body[placed.literal];
    std::string name;
    if (literal.kind == LiteralKind::kAtom || literal.kind == LiteralKind::kNegatedAtom)
      name = program.relations[literal.atom.relation].name +
             fmt::format("({})", fmt::join(placed.bound, ","));
    else if (placed.kind == StepKind::kAssign)
      name = program.rules.back().variables[placed.target].name + "=";
    else if (placed.kind == StepKind::kFilter)
      name = "filter";
    else
      name = placed.kind == StepKind::kRange ? "range" : "aggregate";
    text +=
        (text.empty() ? "" : " ") + (literal.kind == LiteralKind::kNegatedAtom ? "!" + name : name);
  }
  return text;
}

TEST(LiteralOrder, ConstraintsComeAsSoonAsTheyCanBeDecided) {
  EXPECT_EQ(order_of("p(x, z) :- e(x, y), f(y, z), x < 3, !big(x, y), z != 5.\n"),
            "e() filter !big(0,1) f(0) filter");
  EXPECT_EQ(order_of("p(x, w) :- w = x + y, e(x, y).\n"), "e() w=");
  EXPECT_EQ(order_of("p(x, y) :- x = range(0, 3), y = x * 2, e(y, x).\n"), "range x= y= e(0,1)");
}

// From either side; not where two values are unknown, nor of floats, which lose digits.
TEST(LiteralOrder, SumsAndDifferencesAreSolvedForTheirOnlyUnknown) {
  const std::vector<RelationStatistics> sizes{known(10, {10, 10}), known(1000, {1000, 1}),
                                              known(1000, {1000, 1000})};
  EXPECT_EQ(order_of("p(x, y) :- f(x + 1, _), e(x, y).\n", sizes), "e() _1= f(0)");
  EXPECT_EQ(order_of("p(x, y) :- big(x, y), e(x + 1, _).\n", sizes), "e() x= big(0)");
  EXPECT_EQ(order_of("p(x, y) :- big(x, y), e(7 - x, _).\n", sizes), "e() x= big(0)");
  EXPECT_EQ(order_of("p(x, y) :- big(x, y), e(z, x - z).\n", sizes), "e() x= big(0)");
  EXPECT_EQ(order_of("p(x, x) :- e(x, _), x + 1 = 5.\n", sizes), "x= e(0)");
  EXPECT_EQ(order_of("p(x, y) :- e(z, _), big(x, y), z = x + y.\n", sizes), "big() z= e(0)");
  EXPECT_EQ(order_of("p(x, y) :- big(x, y), e(2 * x, _).\n", sizes), "big() _1= e(0)");
  EXPECT_EQ(order_of(".decl g(x: float) .input g\n"
                     "p(1, 1) :- g(x), g(x + 0.1).\n"),
            "g() _1= g(0)");
}

TEST(LiteralOrder, TestsGuardWhatIsComputed) {
  // However it is written: the test that keeps zero away comes before the division.
  EXPECT_EQ(order_of("p(x, z) :- e(x, y), z = x / y, y != 0.\n"), "e() filter z=");
  EXPECT_EQ(order_of("p(x, y) :- e(x, y), x / y > 2, y != 0.\n"), "e() filter filter");
}

TEST(LiteralOrder, SmallAndSelectiveRelationsComeFirst) {
  const std::vector<RelationStatistics> sizes{known(100000, {1000, 1000}), known(10, {10, 10}),
                                              known(5'000'000, {5'000'000, 100})};
  EXPECT_EQ(order_of("p(x, z) :- big(x, y), e(y, z), f(z, x).\n", sizes), "f() big(0) e(0,1)");
  // The values of `y` in the large relation are a part of those in the small one, so that both
  // orders end with as many tuples: the smaller one comes first.
  EXPECT_EQ(order_of("p(x, z) :- big(x, y), e(y, z).\n", sizes), "e() big(1)");
  // A constant on a column with many values makes the large relation the best start.
  EXPECT_EQ(order_of("p(7, z) :- e(y, z), big(7, y).\n", sizes), "big(0) e(0)");
}

// As many tuples as may stand under a prefix of an atom of which nobody reads anything: one is
// enough. Found the hard way: nine rules of two atoms took 3 s instead of 0.1.
TEST(LiteralOrder, WhatIsOnlyTestedComesLast) {
  const std::vector<RelationStatistics> sizes{known(1000, {100, 100}), known(1000, {100, 100}),
                                              known(900, {3, 900})};
  EXPECT_EQ(order_of("p(y, 0) :- big(x, _), e(x, y).\n", sizes), "e() big(0)");
  EXPECT_EQ(order_of("p(y, 0) :- e(x, y), big(x, _).\n", sizes), "e() big(0)");
  // Read by the head, by a test, or twice in the atom: then it makes tuples.
  EXPECT_EQ(order_of("p(y, z) :- big(x, z), e(x, y).\n", sizes), "big() e(0)");
  EXPECT_EQ(order_of("p(y, 0) :- big(x, z), e(x, y), z > y.\n", sizes), "big() e(0) filter");
  EXPECT_EQ(order_of("p(y, 0) :- big(z, z), e(0, y).\n", sizes), "e(0) big()");
}

TEST(LiteralOrder, NothingKnownKeepsTheOrderOfTheSource) {
  EXPECT_EQ(order_of("p(x, z) :- e(x, y), f(y, z).\n"), "e() f(0)");
  EXPECT_EQ(order_of("p(x, z) :- f(y, z), e(x, y).\n"), "f() e(1)");
}

TEST(ProgramPlan, TheDeltaComesFirstAndEachRecursiveAtomHasItsTurn) {
  const Program program = compiled(std::string(kRelations) +
                                   "p(x, y) :- e(x, y).\np(x, z) :- p(x, y), p(y, z), e(z, _).\n");
  const ProgramPlan plan = planned(program);
  const StratumPlan& stratum = plan.strata[stratum_of(program, "p")];
  EXPECT_EQ(stratum.strategy, Strategy::kSemiNaive);
  ASSERT_EQ(stratum.once.size(), 1U);
  ASSERT_EQ(stratum.recursive.size(), 2U);
  for (std::uint32_t i = 0; i < 2; ++i) {
    EXPECT_EQ(stratum.recursive[i].delta_literal, i);
    EXPECT_EQ(stratum.recursive[i].steps[0].kind, StepKind::kScanDelta);
    EXPECT_EQ(stratum.recursive[i].steps[0].literal, i);
  }
}

TEST(ProgramPlan, OptionsTurnPivotsAndSetsOff) {
  const Program program =
      compiled(std::string(kRelations) + "p(x, y) :- e(x, y).\np(x, z) :- p(x, y), e(y, z).\n");
  const std::size_t p = stratum_of(program, "p");
  const ProgramPlan usual = planned(program);
  EXPECT_EQ(usual.strata[p].strategy, Strategy::kPivot);
  EXPECT_TRUE(usual.strata[p].recursive[0].carries);
  ASSERT_EQ(usual.strata[p].by_rounds.size(), 1U);
  EXPECT_EQ(&usual.strata[p].rules_of_rounds(), &usual.strata[p].by_rounds);
  PlanOptions options;
  options.allow_pivot = false;
  const ProgramPlan rounds = planned(program, options);
  EXPECT_EQ(rounds.strata[p].strategy, Strategy::kSemiNaive);
  EXPECT_TRUE(rounds.strata[p].pivot.has_value()) << "still dealt by the pivot";
  EXPECT_TRUE(rounds.strata[p].recursive[0].carries);
  EXPECT_EQ(&rounds.strata[p].rules_of_rounds(), &rounds.strata[p].recursive);
  options.allow_sets = false;
  EXPECT_FALSE(planned(program, options).strata[p].recursive[0].carries);
}

// Rows of a pivot relation lie as keys and pivot; by rounds they lie as in an index. A rule that
// runs by rounds must not read its delta in the other layout.
TEST(ProgramPlan, RulesByRoundsReadTheirIndex) {
  const Program program = compiled(
      ".decl e(x: number)\n.input e\n.decl r(a: number, b: number, c: number, d: number)\n"
      "r(1, 2, 3, 4) :- e(1).\nr(a, b, c, d) :- r(a, b, c, d), e(3).\n"
      ".decl out(x: number)\nout(x) :- r(x, 4, 5, 6), r(_, x, 7, 8), r(_, _, x, 9).\n");
  const ProgramPlan plan = planned(program);
  const std::size_t s = stratum_of(program, "r");
  ASSERT_EQ(plan.strata[s].strategy, Strategy::kPivot);
  const Step& step = plan.strata[s].by_rounds[0].steps[0];
  const auto& order = plan.relations[step.relation].indices[step.index].order;
  const Literal& literal = program.rules[plan.strata[s].by_rounds[0].rule].body[step.literal];
  ASSERT_EQ(step.columns.size(), order.size());
  for (std::size_t i = 0; i < order.size(); ++i)
    EXPECT_EQ(step.columns[i].variable, literal.atom.arguments[order[i]].variable);
}

TEST(ProgramPlan, TooManyColumnsAreRefusedWithThePlace) {
  std::string attributes = "c0: number";
  for (int c = 1; c < 64; ++c) attributes += fmt::format(", c{}: number", c);
  Program program = compiled("\n.decl wide(" + attributes + ")\n");
  EXPECT_TRUE(plan_program(program, {}).is_ok());
  // The compiler lets no such program pass; this is for relations that are added later.
  Relation& wide = program.relations.back();
  wide.attributes.push_back(wide.attributes.back());
  const auto plan = plan_program(program, {});
  ASSERT_FALSE(plan.is_ok());
  EXPECT_EQ(plan.status().to_string(),
            "NotSupported: test.dl:2:7: relation `wide` has 65 columns, at most 64 are supported");
}

TEST(Explain, Closure) {
  const Program program =
      compiled(std::string(kRelations) + "p(x, y) :- e(x, y).\np(x, z) :- p(x, y), e(y, z).\n");
  EXPECT_EQ(explain(program, planned(program)),
            R"(stratum 0: e
    once; not recursive: every rule is evaluated once
    index e(x, y)
stratum 1: f
    once; not recursive: every rule is evaluated once
    index f(x, y)
stratum 2: big
    once; not recursive: every rule is evaluated once
    index big(x, y)
stratum 3: p
    pivot blocks, no exchange; every recursive rule carries p.x unchanged: dealt by it, no tuple crosses ranks
    test.dl:8  p(x, y) :- e(x, y).
        scan e
        tuple at a time
    test.dl:9  p(x, z) :- p(x, y), e(y, z).
        new tuples of p -> search e by (x)
        set at a time: `x` moves as whole sets from `p` to `p`
)");
}

TEST(Explain, EveryKindOfStep) {
  const Program program = compiled(std::string(kRelations) +
                                   R"(p(1, 2). p(3, 4).
.decl q(x: number, n: number)
q(x, n) :- e(x, y), f(y, 3), !big(x, y), x < y, w = x + y, f(w, _), n = count : { big(w, _) }, z = range(0, w), e(z, z).
)");
  const std::string text = explain(program, planned(program));
  for (const char* part :
       {"2 facts in the program", "search f by (y)", "search e by (y)", "absent big by (x, y)",
        "filter", "compute w", "aggregate n {search big by (x)}", "range _2", "exists e by (y, x)",
        "exists f by (x)"})
    EXPECT_NE(text.find(part), std::string::npos) << part << " is missing in\n" << text;
}

// No search of `steps` by a short prefix uses an index without a directory of its length.
void expect_directories(const ProgramPlan& plan, const std::vector<Step>& steps) {
  for (const Step& step : steps) {
    expect_directories(plan, step.aggregate_steps);
    const bool searches = step.kind == StepKind::kSearch || step.kind == StepKind::kExists ||
                          step.kind == StepKind::kAbsent;
    if (!searches || step.columns.empty() || step.prefix_length == 0) continue;
    const IndexPlan& index = plan.relations[step.relation].indices[step.index];
    if (step.prefix_length + 1 >= index.order.size()) continue;
    EXPECT_TRUE(std::binary_search(index.searched_lengths.begin(), index.searched_lengths.end(),
                                   step.prefix_length))
        << "relation " << step.relation << ", index " << step.index << ", prefix "
        << step.prefix_length;
  }
}

// Field-sensitive points-to: what `held` is asked for stands before what only the head wants.
TEST(ProgramPlan, WhatTheNextStepAsksForStandsFirst) {
  const Program program = compiled(R"(
    .decl load(to: number, base: number, field: number)
    .input load
    .decl points(v: number, h: number)
    .input points
    .decl held(h: number, field: number, value: number)
    .input held
    .decl flows(to: number, value: number)
    flows(to, x) :- held(h, f, x), load(to, b, f), points(b, h).
    .output flows
  )");
  const ProgramPlan plan = planned(program);
  const RelationId load = relation_named(program, "load");
  ASSERT_EQ(plan.relations[load].indices.size(), 1U);
  EXPECT_EQ(plan.relations[load].indices[0].order, (std::vector<std::uint32_t>{2, 1, 0}));
}

// Either set could move, `edge` being looked up from both ends: of a closure, which has a set for
// each node, and of the edges that end in one.
TEST(ProgramPlan, OfSetsThatCouldMoveTheMuchLargerOnesDo) {
  const Program program = compiled(R"(
    .decl edge(a: number, b: number)
    .input edge
    .decl root(a: number)
    root(x) :- edge(x, _), !edge(_, x).
    .output root
    .decl path(a: number, b: number)
    path(x, y) :- edge(x, y).
    path(x, z) :- path(x, y), edge(y, z).
    .decl hop(a: number, b: number)
    hop(x, z) :- edge(x, y), path(y, z).
    .output hop
  )");
  const RelationId edge = relation_named(program, "edge");
  const std::size_t stratum = stratum_of(program, "hop");
  const auto moved = [&](std::uint64_t edges, std::uint64_t nodes) {
    PlanOptions options;
    options.statistics.resize(program.relations.size());
    options.statistics[edge] = known(edges, {nodes, nodes});
    const ProgramPlan plan = planned(program, options);
    const RulePlan& rule = plan.strata[stratum].once.front();
    return rule.carries ? program.rules[rule.rule].variables[rule.carried].name : "nothing";
  };
  EXPECT_EQ(moved(40'000, 20'000), "z");
  EXPECT_EQ(moved(400'000, 1'000), "x") << "about as large";
}

TEST(ProgramPlan, SearchesUseAnIndexThatHasADirectoryForThem) {
  // Two indices of `split` begin with `rest`, and the one in which tuples are told apart is not the
  // one that was chosen for searches by `rest` alone.
  const Program program = compiled(R"(.type list = [head: number, tail: list]
.decl wanted(x: list)
wanted([1, nil]).
.decl split(x: list, rest: list, below: list, above: list)
split([p, l], l, nil, nil) :- wanted([p, l]).
split([p, l], t, [h, b], a) :- split([p, l], [h, t], b, a), h < p.
split([p, l], t, b, [h, a]) :- split([p, l], [h, t], b, a), h >= p.
wanted(l) :- split(_, nil, l, _).
wanted(l) :- split(_, nil, _, l).
.decl joined(x: list, y: list, z: list)
joined(nil, b, b) :- both(nil, b).
.decl both(x: list, y: list)
.decl sorted(x: list, y: list)
sorted(nil, nil).
sorted([h, t], y) :-
  split([h, t], nil, b, a), sorted(a, c), sorted(b, d), joined(d, [h, c], y).
both(d, [h, c]) :- split([h, _], nil, b, a), sorted(a, c), sorted(b, d).
)");
  const ProgramPlan plan = planned(program);
  for (const StratumPlan& stratum : plan.strata)
    for (const auto* rules : {&stratum.once, &stratum.recursive, &stratum.by_rounds})
      for (const RulePlan& rule : *rules) expect_directories(plan, rule.steps);
}

}  // namespace
}  // namespace stratalog::datalog
