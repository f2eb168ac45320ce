// SPDX-License-Identifier: Apache-2.0
// Sums in recursion lie with their terms, however either is searched; those of floats depend on no
// order.
#include "datalog/evaluate/running_sums.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <sstream>

#include "datalog/evaluate/placement.h"
#include "property/engine_runner.h"

namespace stratalog::datalog {
namespace {

using Columns = std::vector<std::uint32_t>;

RelationId relation_called(const Program& program, const std::string& name) {
  for (RelationId r = 0; r < program.relations.size(); ++r)
    if (program.relations[r].name == name) return r;
  ADD_FAILURE() << "no relation " << name;
  return 0;
}

std::string sorted(const std::string& file) {
  std::istringstream text(file);
  std::set<std::string> lines;
  for (std::string line; std::getline(text, line);) lines.insert(line);
  return fmt::format("{}", fmt::join(lines, "\n"));
}

TEST(RunningSums, LieWithTheirTerms) {
  // The rule that reads the sums knows x only where it comes from `seen`.
  const Program program = compiled(
      ".decl e(x: number, y: number, s: number)\n.input e\n"
      ".decl c(x: number, y: number, s: number)\nc(x, y, s) :- e(x, y, s).\n"
      "c(x, y, s) :- h(x), e(x, y, s).\n.decl seen(x: number)\nseen(x) :- h(x).\n"
      ".decl h(x: number)\nh(y) :- seen(x), c(x, y, _), 9 < sum s : { c(x, y, s) }.\n");
  const auto planned = plan_program(program, {});
  ASSERT_TRUE(planned.is_ok());
  const ProgramPlan& plan = planned.value();
  const auto placements = plan_placements(program, plan);
  const RelationId total = relation_called(program, "h#total2");
  const RelationId terms = relation_called(program, "h#terms1");
  ASSERT_TRUE(program.relations[total].sums.has_value());
  ASSERT_EQ(program.relations[total].sums->terms, terms);
  for (const RelationId r : {total, terms}) {
    const RelationPlan& relation = plan.relations[r];
    EXPECT_EQ(relation.dealt_by_first, 2U);
    EXPECT_EQ(placements[r][relation.primary], (Columns{0, 1}));
    EXPECT_EQ(relation.indices[relation.primary].order.back(),
              program.relations[r].attributes.size() - 1);
  }
}

// A sum without a key lies, with all of its terms, where the constant 0 does.
TEST(RunningSums, OfEverything) {
  const Program program = compiled(
      ".decl e(x: number, y: number)\n.input e\n.decl h(x: number)\nh(1).\n"
      "h(y) :- h(x), e(x, y).\nh(y) :- e(_, y), count : { h(_) } > 3.\n");
  const auto planned = plan_program(program, {});
  ASSERT_TRUE(planned.is_ok());
  const ProgramPlan& plan = planned.value();
  const auto placements = plan_placements(program, plan);
  const RelationId total = relation_called(program, "h#total2");
  EXPECT_EQ(placements[total][plan.relations[total].primary], Columns{0});
  const RelationId terms = program.relations[total].sums->terms;
  EXPECT_EQ(placements[terms][plan.relations[terms].primary], Columns{0});
  EXPECT_TRUE(program.relations[total].sums->counts);
}

// Neither ranks nor the lines of the file show: terms that come in one round are added exactly.
TEST(RunningSums, OfFloatsInAnyOrder) {
  const Program program = compiled(R"(
.decl h(x: symbol, y: symbol, s: float)
.input h
.type Amount <: float
.lattice Amount<> { Bottom -> 0, Lub -> max(_, _), Glb -> min(_, _) }
.decl c(x: symbol)
.decl total(y: symbol, s: Amount<>)
.output total
c("root").
c(y) :- total(y, s), s >= 1.0.
total(y, as(n, Amount)) :- h(_, y, _), n = sum s : { c(x), h(x, y, s) }.
)");
  std::mt19937_64 random(3);
  std::vector<std::string> lines;
  for (int x = 0; x < 30; ++x) {
    lines.push_back(fmt::format("root\tn{}\t1.5\n", x));
    for (int y = 0; y < 30; ++y)
      lines.push_back(fmt::format("n{}\tm{}\t{}\n", x, y, static_cast<int>(random() % 10) / 10.0));
    lines.push_back(fmt::format("m{}\tend\t{}\n", x, static_cast<int>(random() % 10) / 10.0));
  }
  std::string expected;
  for (const int ranks : {1, 1, 2, 3, 3}) {
    const FileTexts facts{{"h.facts", fmt::format("{}", fmt::join(lines, ""))}};
    const EngineOutcome outcome = run_engine(program, facts, ranks, hop_options());
    ASSERT_TRUE(outcome.status.is_ok()) << outcome.status.to_string();
    const std::string& total = outcome.files.at("total.csv");
    if (expected.empty()) expected = sorted(total);
    EXPECT_EQ(std::ranges::count(total, '\n'), 61);
    EXPECT_EQ(sorted(total), expected) << ranks;
    std::ranges::shuffle(lines, random);
  }
}

}  // namespace
}  // namespace stratalog::datalog
