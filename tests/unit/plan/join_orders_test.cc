// SPDX-License-Identifier: Apache-2.0
// `.plan`: the versions of a rule that have an order are joined in it, the others as sizes say.
#include <gtest/gtest.h>

#include <algorithm>

#include "unit/plan/planned_text.h"

namespace stratalog::datalog {
namespace {

constexpr const char* kBases =
    ".decl e(x: number, y: number)\n.input e\n.decl f(x: number, y: number)\n.input f\n"
    ".decl p(x: number, y: number)\np(x, y) :- e(x, y).\n";

// What `explain` prints below the rules of `text` that come after kBases.
std::string joins_of(const std::string& text, const PlanOptions& options = {}) {
  const Program program = compiled(kBases + text);
  const std::string all = explain(program, planned(program, options));
  const std::size_t first = all.find("    test.dl:7");
  return first == std::string::npos ? all : all.substr(first);
}

PlanOptions rounds_only() {
  PlanOptions options;
  options.allow_pivot = false;
  return options;
}

TEST(JoinOrders, VersionsAreThoseOfTheRecursiveAtoms) {
  EXPECT_EQ(joins_of("p(x, z) :- p(x, y), e(y, w), p(w, z). .plan 1:(2,1,3), 0:(3,2,1)\n"),
            R"(    test.dl:7  p(x, z) :- p(x, y), e(y, w), p(w, z).
        scan p -> search e by (y) -> new tuples of p by (y)
        set at a time: `x` moves as whole sets from `p` to `p`; in the order of `.plan`
    test.dl:7  p(x, z) :- p(x, y), e(y, w), p(w, z).
        scan e -> search p by (y) -> new tuples of p by (x)
        set at a time: `x` moves as whole sets from `p` to `p`; in the order of `.plan`
)");
}

TEST(JoinOrders, AVersionWithoutOneIsPlannedAsUsual) {
  const std::string rule = "p(x, z) :- p(x, y), f(y, w), p(w, z).";
  const std::string usual = joins_of(rule + "\n");
  const std::string half = joins_of(rule + " .plan 1:(1,2,3)\n");
  EXPECT_EQ(half.substr(0, half.find('\n', half.find("        ")) + 1),
            usual.substr(0, usual.find('\n', usual.find("        ")) + 1));
  EXPECT_NE(half.find("scan p -> search f by (x) -> new tuples of p by (x)"), std::string::npos)
      << half;
}

// `f` may say for which x there is a quotient, whichever of both is larger. What cannot fail does
// not wait, nor does what shares nothing with the atom.
TEST(JoinOrders, WhatCanFailWaitsForTheAtomsThatHoldItsValues) {
  const auto order_of = [](const std::string& body) {
    const std::string text = joins_of(".decl q(n: number) q(n) :- " + body + "\n");
    return text.substr(text.find("        ") + 8,
                       text.find('\n', text.find("        ")) - text.find("        ") - 8);
  };
  EXPECT_EQ(order_of("e(x, _), f(x, _), n = 10 / x."), "scan e -> exists f by (x) -> compute n");
  EXPECT_EQ(order_of("e(x, _), f(x, _), n = x % 7."), "scan e -> compute n -> exists f by (x)");
  EXPECT_EQ(order_of("e(x, n), f(x, _), 10 / x > 3."), "scan e -> exists f by (x) -> filter");
  EXPECT_EQ(order_of("e(x, _), n = 10 / x, f(n, _)."), "scan e -> compute n -> exists f by (x)");
  EXPECT_EQ(order_of("e(x, _), f(x, 10 / x), n = 1."),
            "compute n -> scan f -> exists e by (x) -> filter");
}

TEST(JoinOrders, ConstraintsStillComeAsSoonAsTheyCanBeDecided) {
  const std::string text =
      joins_of("p(x, z) :- p(x, y), y > 3, f(y, w), z = w + 1, !e(w, z), w < 9. .plan 0:(2,1)\n",
               rounds_only());
  EXPECT_NE(text.find("scan f -> filter -> filter -> compute z -> absent e by (y, x) -> new tuples "
                      "of p by (y)"),
            std::string::npos)
      << text;
}

TEST(JoinOrders, ProductsAreMadeWhereTheProgramAsksForThem) {
  const std::string text =
      joins_of("p(x, z) :- p(x, y), f(y, w), f(w, z). .plan 0:(1,3,2)\n", rounds_only());
  EXPECT_NE(text.find("new tuples of p -> scan f -> exists f by (x, y)"), std::string::npos)
      << text;
}

TEST(JoinOrders, NewTuplesRestrictNoSets) {
  // `y` could move from f to p, if p were not asked for new tuples with it.
  const Program program =
      compiled(std::string(kBases) + "p(x, y) :- p(x, y), f(x, y). .plan 0:(2,1)\n");
  const ProgramPlan plan = planned(program, rounds_only());
  for (const RulePlan& rule : plan.strata[stratum_of(program, "p")].recursive) {
    EXPECT_FALSE(rule.carries);
    EXPECT_EQ(rule.steps.back().kind, StepKind::kScanDelta);
    EXPECT_EQ(rule.steps.back().prefix_length, 2U);
  }
}

TEST(JoinOrders, ASweepFollowsThoseThatBeginWithNewTuples) {
  const std::string rule = "p(x, z) :- p(x, y), e(y, w), f(w, z).";
  const std::string first = joins_of(rule + " .plan 0:(1,3,2)\n");
  EXPECT_NE(first.find("new tuples of p -> scan f -> exists e by (y, x)\n        set at a time: "
                       "`x` moves as whole sets from `p` to `p`; in the order of `.plan`\n"),
            std::string::npos)
      << first;
  const std::string later = joins_of(rule + " .plan 0:(3,2,1)\n");
  EXPECT_NE(later.find("new tuples of p -> search e by (x) -> search f by (x)\n"),
            std::string::npos)
      << later;
  EXPECT_NE(later.find("; a sweep begins with new tuples, so `.plan` would order rounds only\n"),
            std::string::npos)
      << later;
  const std::string rounds = joins_of(rule + " .plan 0:(3,2,1)\n", rounds_only());
  EXPECT_NE(rounds.find("scan f -> search e by (y) -> new tuples of p by (y)"), std::string::npos)
      << rounds;
}

TEST(JoinOrders, RulesThatSubsume) {
  const std::string text =
      joins_of("p(x, y) <= p(x, z) :- f(y, z), e(x, _). .plan 0:(3,4,2,1), 1:(4,1,2,3)\n");
  EXPECT_NE(text.find("scan f -> scan e -> exists p by"), std::string::npos) << text;
  EXPECT_NE(text.find("-> new tuples of p by"), std::string::npos) << text;
}

TEST(JoinOrders, InlinedAtomsCountAndIndependentPartsStay) {
  const std::string text = joins_of(
      ".decl i(x: number, y: number) inline\ni(x, y) :- e(x, z), f(z, y).\n"
      "p(x, y) :- p(x, _), i(x, y), e(u, v), f(v, u). .plan 0:(4,5,2,3,1)\n",
      rounds_only());
  EXPECT_NE(text.find("scan e -> exists f by (x, y) -> scan e -> search f by (x) -> new tuples of "
                      "p by (x)"),
            std::string::npos)
      << text;
}

// Of `v`, there may be many with a constant: to pair them with each new tuple is no better than to
// go through all terms once.
TEST(JoinOrders, OfTermsBeginWithTheTermsThoughAConstantIsAskedFor) {
  const std::string text = joins_of(
      ".type T = Leaf {n: number} | Node {l: T, r: T}\n.decl t(x: T)\n.input t\n"
      ".decl v(x: T, y: T)\nv(x, x) :- t(x), x = $Leaf(_).\n"
      "v(x, y) :- t(x), x = $Node(a, b), v(a, $Leaf(0)), v(b, y).\n");
  const std::size_t rule = text.find("v(x, y) :- ");
  EXPECT_NE(
      text.find("scan t -> take apart x -> new tuples of v by (x, y) -> search v by (x)", rule),
      std::string::npos)
      << text;
  EXPECT_NE(
      text.find("scan t -> take apart x -> exists v by (x, y) -> new tuples of v by (x)", rule),
      std::string::npos)
      << text;
}

constexpr std::uint64_t kPeople = 100'000;

// The order in which `score` finds pairs with the same mail, a quarter of which is the number 0.
std::string order_of_scores(const std::string& tests, bool is_frequent = true) {
  const std::string text =
      ".decl person(x: number, mail: number, z: number)\n.input person\n"
      ".decl c(x: number, y: number)\n.input c\n"
      ".decl score(x: number, y: number)\n"
      "score(x, y) :- c(x, y), person(x, m, _), person(y, m, _)" +
      tests + ".\n";
  const Program program = compiled(text);
  PlanOptions options;
  options.statistics.resize(program.relations.size());
  const auto size_of = [&](const std::string& name) -> RelationStatistics& {
    return options.statistics[relation_named(program, name)];
  };
  size_of("person") = {.known = true, .rows = kPeople, .distinct = {kPeople, kPeople, kPeople}};
  size_of("c") = {.known = true, .rows = 10 * kPeople, .distinct = {kPeople, kPeople}};
  if (is_frequent)
    size_of("person").frequent = {{}, {{.bucket = value_bucket(0), .per_million = 250'000}}, {}};
  const std::string all = explain(program, planned(program, options));
  const std::size_t rule = all.find("score(x, y) :- ");
  const std::size_t order = all.find("        ", rule) + 8;
  return rule == std::string::npos ? all : all.substr(order, all.find('\n', order) - order);
}

TEST(JoinOrders, ValuesThatManyRowsHaveAreNotJoinedFirst) {
  const std::string by_mail = "search person by (mail) -> intersect with c by (x)";
  const std::string by_pair = "search c by (x) -> exists person by (x, mail)";
  EXPECT_EQ(order_of_scores("", false), "scan person -> " + by_mail);
  EXPECT_EQ(order_of_scores(""), "scan person -> " + by_pair);
  // Nor if something else is excluded; but where they are, nothing is left to fear.
  EXPECT_EQ(order_of_scores(", m != 1"), "scan person -> filter -> " + by_pair);
  EXPECT_EQ(order_of_scores(", m != 0"), "scan person -> filter -> " + by_mail);
  EXPECT_EQ(order_of_scores(", 0 != m"), "scan person -> filter -> " + by_mail);
}

TEST(JoinOrders, OfConstantsThatManyRowsHaveThereAreMany) {
  const auto order_of = [](const std::string& constant) {
    const Program program = compiled(
        ".decl t(x: number, p: number, o: number)\n.input t\n.decl f(x: number, y: number)\n.input "
        "f\n"
        ".decl q(x: number, y: number)\nq(x, y) :- t(x, _, " +
        constant + "), f(x, y).\n");
    PlanOptions options;
    options.statistics.resize(program.relations.size());
    options.statistics[relation_named(program, "t")] = {
        .known = true,
        .rows = 1'000'000,
        .distinct = {500'000, 4, 100'000},
        .frequent = {{}, {}, {{.bucket = value_bucket(3), .per_million = 300'000}}}};
    options.statistics[relation_named(program, "f")] = {
        .known = true, .rows = 50'000, .distinct = {50'000, 50'000}};
    const std::string all = explain(program, planned(program, options));
    const std::size_t order = all.find("        ", all.find("q(x, y) :- ")) + 8;
    return all.substr(order, all.find('\n', order) - order);
  };
  EXPECT_EQ(order_of("3"), "scan f -> exists t by (x, o)");
  EXPECT_EQ(order_of("4"), "search t by (o) -> search f by (x)");
}

}  // namespace
}  // namespace stratalog::datalog
