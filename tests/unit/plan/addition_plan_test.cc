// SPDX-License-Identifier: Apache-2.0
// What added facts mean for strata: which go on, which start over and why, what is refused; and how
// strata that go on become one.
#include "datalog/plan/addition_plan.h"

#include <gtest/gtest.h>

#include "unit/plan/planned_text.h"

namespace stratalog::datalog {
namespace {

constexpr const char* kPaths =
    ".decl e(x: number, y: number)\n.input e\n.decl p(x: number, y: number)\np(x, y) :- e(x, y).\n"
    "p(x, z) :- p(x, y), e(y, z).\n";  // lines 1 to 5
constexpr const char* kOther = ".decl o(x: number)\n.input o\n";

// "e goes on; p starts over: reason", strata that are not reached left out.
std::string effects(const std::string& text, const std::set<std::string>& changed = {"e"}) {
  const Program program = compiled(text);
  std::set<RelationId> relations;
  for (const std::string& name : changed) relations.insert(relation_named(program, name));
  const auto plan = plan_addition(program, relations);
  if (!plan.is_ok()) return plan.status().to_string();
  std::string result;
  for (std::size_t s = 0; s < program.strata.size(); ++s) {
    const StratumAddition& stratum = plan.value().strata[s];
    if (stratum.effect == AdditionEffect::kNone) continue;
    for (const RelationId r : program.strata[s].relations)
      result += (result.empty() ? "" : "; ") + program.relations[r].name;
    result +=
        stratum.effect == AdditionEffect::kGoesOn ? " goes on" : " starts over: " + stratum.reason;
  }
  return result;
}

TEST(AdditionPlan, WhatOnlyGrowsGoesOn) { EXPECT_EQ(effects(kPaths), "e goes on; p goes on"); }

TEST(AdditionPlan, WhatReadsNothingThatChangedIsLeftAlone) {
  const std::string text =
      std::string(kPaths) + kOther + ".decl q(x: number)\nq(x) :- o(x), !p(x, x).\n";
  EXPECT_EQ(effects(text, {"o"}), "o goes on; q goes on");
  EXPECT_EQ(effects(text), "e goes on; p goes on; q starts over: `p` is negated at test.dl:9");
}

TEST(AdditionPlan, AggregatesStartOverWithAllAboveThem) {
  EXPECT_EQ(effects(std::string(kPaths) + ".decl n(c: number)\nn(c) :- c = count : { p(_, _) }.\n"
                                          ".decl m(c: number)\nm(c) :- n(c), e(c, _).\n"),
            "e goes on; p goes on; n starts over: `p` is aggregated at test.dl:7; m starts over: "
            "`n`, which starts over, is read at test.dl:9");
}

TEST(AdditionPlan, WhatDependsOnMoreThanTuplesStartsOver) {
  EXPECT_EQ(effects(std::string(kPaths) +
                    ".decl c(x: number, y: number) choice-domain x\nc(x, y) :- p(x, y).\n"),
            "e goes on; p goes on; c starts over: `c` has a choice-domain at test.dl:6");
  EXPECT_EQ(effects(std::string(kPaths) + ".limitsize p(n=3)\n"),
            "e goes on; p starts over: `p` has a .limitsize");
  EXPECT_EQ(effects(std::string(kPaths) +
                    ".decl s(x: number, y: number) btree_delete\ns(x, y) :- p(x, y).\n"
                    "s(x, y) <= s(x, z) :- y < z, e(y, z).\n"),
            "e goes on; p goes on; s starts over: tuples of `s` are subsumed at test.dl:8");
  EXPECT_EQ(
      effects(std::string(kPaths) +
              ".decl r(x: number, n: unsigned)\nr(x, recursive_iteration_cnt()) :- p(x, _).\n"),
      "e goes on; p goes on; r starts over: `r` depends on the pass over the rules at "
      "test.dl:7");
}

constexpr const char* kWeighed =
    ".decl e(x: number, y: number)\n.input e\n.decl d(x: number, v: number)\nd(x, y) :- e(x, y).\n"
    "d(y, v + y) :- d(x, v), e(x, y).\nd(x, v) <= d(x, w) :- w < v.\n";  // lines 1 to 6

// The best of a key only gets better; what reads it goes on where that takes nothing back.
TEST(AdditionPlan, BestValuesGoOn) {
  const std::string head = ".decl q(x: number)\n";
  EXPECT_EQ(effects(kWeighed), "e goes on; d goes on");
  for (const char* rule :
       {"q(x) :- d(x, _).", "q(x) :- d(x, v), v < 7.", "q(x) :- d(x, v), 3 >= v."})
    EXPECT_EQ(effects(kWeighed + head + rule), "e goes on; d goes on; q goes on") << rule;
  for (const char* rule : {"q(v) :- d(_, v).", "q(x) :- d(x, v), v > 7.", "q(x) :- d(x, 3).",
                           "q(x) :- d(x, v), v % 2 = 0.", "q(x) :- d(x, v), e(v, _).",
                           "q(x) :- d(x, v), d(_, v), x > 2.", "q(y) :- d(_, v), y = range(0, v)."})
    EXPECT_EQ(
        effects(kWeighed + head + rule),
        "e goes on; d goes on; q starts over: a better value in `d` may take back what follows "
        "from it at test.dl:8")
        << rule;
  EXPECT_NE(effects(std::string(kWeighed) + "d(x, 9 - v) :- d(x, v), e(x, _).\n")
                .find("d starts over: a better value in `d` may take back"),
            std::string::npos);
}

// Also through equations, and only in the direction in which values get better.
TEST(AdditionPlan, BestValuesGoOnThroughEquations) {
  const std::string head = ".decl q(x: number)\n";
  const auto effect_of = [&](const std::string& rule) {
    const std::string found = effects(kWeighed + head + rule);
    return found.substr(found.find("; q ") + 2, std::string("q starts").size());
  };
  for (const char* rule :
       {"q(x) :- d(x, v), w = v + 1, w < 7.", "q(x) :- d(x, v), e(x, y), v - y <= 2 * y.",
        "q(x) :- d(x, v), -2 * v > 3.", "q(x) :- d(x, v), max(v, 4) = 4.",
        "q(x) :- d(x, v), w = max(v, x), w / 2 < 9."})
    EXPECT_EQ(effect_of(rule), "q goes o") << rule;
  for (const char* rule :
       {"q(x) :- d(x, v), w = v + 1, w > 7.", "q(x) :- d(x, v), e(x, y), v * y < 9.",
        "q(x) :- d(x, v), min(v, 4) = 4.", "q(x) :- d(x, v), w = v, w = 4.",
        "q(v) :- d(x, v), x < 3.", "q(x) :- d(x, v), d(v, _).", "q(x) :- d(x, v), v != 4.",
        "q(w) :- d(_, v), w = v + 1.", "q(x) :- d(x, v), v = count : { e(x, _) }."})
    EXPECT_EQ(effect_of(rule), "q starts") << rule;
}

TEST(AdditionPlan, LatticesAndSumsInRecursionGoOn) {
  const std::string lattice =
      ".type L <: number\n.lattice L<> { Bottom -> 0, Lub -> _ bor _, Glb -> _ band _ }\n"
      ".decl e(x: number, y: number)\n.input e\n.decl s(x: number, v: L<>)\n.input s\n"
      "s(y, v bor 1) :- s(x, v), e(x, y).\n.decl q(x: number)\n";
  EXPECT_EQ(effects(lattice + "q(x) :- s(x, 4).\n"), "e goes on; s goes on; q goes on");
  EXPECT_NE(effects(lattice + "q(x) :- s(x, v), s(_, v).\n").find("q starts over"),
            std::string::npos);
  const std::string functor =
      ".functor up(a: number, b: number): number\n.type L <: number\n.lattice L<> { Bottom -> 0, "
      "Lub -> @up(_, _), Glb -> min(_, _) }\n.decl e(x: number, y: number)\n.input e\n"
      ".decl s(x: number, v: L<>)\ns(x, as(y, L)) :- e(x, y).\n";
  EXPECT_EQ(effects(functor + "s(y, v) :- s(x, v), e(x, y).\n"), "e goes on; s goes on");
  EXPECT_NE(effects(functor + "s(y, v + 1) :- s(x, v), e(x, y).\n").find("s starts over"),
            std::string::npos);
  EXPECT_NE(effects(lattice + "q(x) :- s(x, v), v < 4.\n").find("q starts over"),
            std::string::npos);
  EXPECT_NE(effects(lattice + "s(y, v bxor 1) :- s(x, v), e(x, y).\n")
                .find("`s` would have to start over (a better value in `s` may take back"),
            std::string::npos);
  const auto sums = [](const std::string& kind) {
    return ".decl e(x: number, y: " + kind +
           ")\n.input e\n.decl h(x: number)\nh(1).\n"
           "h(x) :- e(x, _), sum w : { h(y), e(x, w), x != y } > 4.\n";
  };
  EXPECT_EQ(effects(sums("number")).find("starts over"), std::string::npos);
  EXPECT_NE(effects(sums("float")).find("floats are summed up in a recursion at test.dl:5"),
            std::string::npos)
      << effects(sums("float"));
}

// Numbers of a relation that is not reached move if those before it do.
TEST(AdditionPlan, CountersStartOverFromTheFirstThatChanges) {
  const std::string text = std::string(kPaths) + kOther +
                           ".decl a(x: number, n: number)\na(x, autoinc()) :- p(x, _).\n"
                           ".decl b(x: number, n: number)\nb(x, autoinc()) :- o(x).\n";
  const std::string found = effects(text);
  EXPECT_NE(found.find("; a starts over: `autoinc()` counts over `p`, which changes"),
            std::string::npos)
      << found;
  EXPECT_NE(found.find("; b starts over: `autoinc()` goes on from numbers that change"),
            std::string::npos)
      << found;
  EXPECT_EQ(found.find("which starts over"), std::string::npos) << found;
}

TEST(AdditionPlan, RelationsThatAreReadAndWouldStartOverAreRefused) {
  EXPECT_EQ(effects(".decl e(x: number, y: number) choice-domain x\n.input e\n"),
            "NotSupported: test.dl:1: facts cannot be added: `e` would have to start over (`e` has "
            "a choice-domain at test.dl:1), and what its .input read is kept in no checkpoint; run "
            "the program from nothing with all facts");
  const std::string refused =
      effects(std::string(kPaths) + kOther + "o(x) :- e(x, _), !p(x, x).\n");
  EXPECT_NE(refused.find("`o` would have to start over (`p` is negated at test.dl:8)"),
            std::string::npos)
      << refused;
}

// p is swept anew, but not if that took a recursion by rounds or what was read with it.
TEST(AdditionPlan, LargePivotStrataAreSweptAnew) {
  const auto with_sweep = [](const std::string& text, const std::set<std::string>& changed) {
    const Program program = compiled(text);
    std::set<RelationId> relations;
    for (const std::string& name : changed) relations.insert(relation_named(program, name));
    const auto swept = static_cast<std::uint32_t>(stratum_of(program, "p"));
    const auto plan = plan_addition(program, relations, {swept});
    return plan.is_ok() ? plan.value().strata[swept].effect : AdditionEffect::kNone;
  };
  const std::string once = ".decl u(x: number)\nu(x) :- p(x, x).\n";
  EXPECT_EQ(with_sweep(kPaths, {"e"}), AdditionEffect::kStartsOver);
  EXPECT_EQ(with_sweep(kPaths + once, {"e"}), AdditionEffect::kStartsOver);
  EXPECT_EQ(with_sweep(kPaths + once + kOther, {"o"}), AdditionEffect::kNone);
  EXPECT_EQ(with_sweep(kPaths + once + "u(y) :- u(x), p(x, y).\n", {"e"}), AdditionEffect::kGoesOn);
  EXPECT_EQ(with_sweep(kPaths + once + ".input u\n", {"e"}), AdditionEffect::kGoesOn);
  EXPECT_EQ(with_sweep(kPaths + std::string(".input p\n"), {"p"}), AdditionEffect::kGoesOn);
}

TEST(AdditionPlan, MergedStrataKeepTheNumbersOfAll) {
  const Program program =
      compiled(std::string(kPaths) + kOther + ".decl q(x: number)\n" + "q(x) :- p(x, _), o(x).\n");
  const auto plan = plan_addition(program, {relation_named(program, "e")});
  ASSERT_TRUE(plan.is_ok());
  const auto merged = strata_with(plan.value(), AdditionEffect::kGoesOn);
  ASSERT_EQ(merged.size(), 3U);
  const std::vector<Stratum> strata = merge_strata(program, merged);
  ASSERT_EQ(strata.size(), program.strata.size());
  const Stratum& all = strata[*merged.begin()];
  EXPECT_TRUE(all.is_recursive);
  EXPECT_EQ(all.relations,
            (std::vector<RelationId>{relation_named(program, "e"), relation_named(program, "p"),
                                     relation_named(program, "q")}));
  EXPECT_EQ(all.rules.size(), 3U);
  EXPECT_TRUE(strata[*std::next(merged.begin())].relations.empty());
  EXPECT_EQ(strata[stratum_of(program, "o")].relations.size(), 1U);
  // Every atom of a relation that grows is a delta once.
  Program one = program;
  one.strata = strata;
  const ProgramPlan planned_merged = planned(one, {.continued = *merged.begin()});
  EXPECT_EQ(planned_merged.strata[*merged.begin()].recursive.size(), 4U);
  EXPECT_EQ(planned_merged.strata[*merged.begin()].strategy, Strategy::kSemiNaive);
}

}  // namespace
}  // namespace stratalog::datalog
