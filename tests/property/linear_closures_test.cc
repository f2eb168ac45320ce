// SPDX-License-Identifier: Apache-2.0
// Random programs with closures, and with aggregates over joins, as they are written and as they
// are evaluated (language/linear_closures.h, mutual_copies.h, gathered_bodies.h): the oracle finds
// the same tuples.
// STRATALOG_PROPERTY_CASES sets the number of programs, STRATALOG_PROPERTY_SEED the first seed.
#include <gtest/gtest.h>

#include "property/campaign_size.h"
#include "property/expected_outcome.h"
#include "property/program_generator.h"

namespace stratalog::datalog {
namespace {

constexpr std::uint64_t kDefaultCases = 1000;
constexpr std::uint64_t kOracleSteps = 60'000;

bool has_other_rules(const Program& one, const Program& other) {
  return !std::ranges::equal(one.rules, other.rules, {}, &Rule::text, &Rule::text);
}

std::optional<Expected> ask_oracle(const Program& program, const GeneratedProgram& generated) {
  try {
    oracle::Oracle oracle(program, parse_facts(program, generated.fact_files), kOracleSteps);
    return expectation_of(program, oracle.run());
  } catch (const oracle::GaveUp&) {
    return std::nullopt;
  }
}

TEST(RulesAsEvaluated, HoldWhatTheRulesSay) {
  const std::uint64_t first = from_environment("STRATALOG_PROPERTY_SEED", 1);
  const std::uint64_t cases = property_cases(kDefaultCases);
  std::uint64_t compared = 0;
  for (std::uint64_t seed = first; seed < first + cases; ++seed) {
    const GeneratedProgram generated = ProgramGenerator(seed).generate();
    const Program evaluated = compiled(generated.text);
    const Program written = compiled(generated.text, MagicSets::kMark);
    if (!has_other_rules(evaluated, written)) continue;
    const auto expected = ask_oracle(written, generated);
    const auto found = ask_oracle(evaluated, generated);
    if (!expected || !found) continue;
    ++compared;
    for (const auto& [relation, rows] : expected->rows)
      EXPECT_EQ(found->rows.at(relation), rows) << relation;
    EXPECT_EQ(found->files, expected->files) << "seed " << seed << "\n"
                                             << generated.text << text_of(generated.fact_files);
  }
  RecordProperty("summary", fmt::format("{} programs compared", compared));
  if (cases >= 100) {
    EXPECT_GT(compared * 20, cases);
  }
}

}  // namespace
}  // namespace stratalog::datalog
