// SPDX-License-Identifier: Apache-2.0
// Magic sets: whatever is asked of a random program, the outputs are those of the program that
// computes everything (which is the oracle's); what is asked for as a whole is there as a whole,
// and of the rest nothing is there that would not be there anyway. STRATALOG_PROPERTY_CASES sets
// the number of programs, STRATALOG_PROPERTY_SEED the first seed.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <random>

#include "property/campaign_size.h"
#include "property/engine_runner.h"
#include "property/expected_outcome.h"
#include "property/oracle.h"
#include "property/program_generator.h"

namespace stratalog::datalog {
namespace {

constexpr std::uint64_t kDefaultCases = 1500;
constexpr std::uint64_t kOracleSteps = 60'000;

// The value of a column as the program would write it.
std::string constant_of(const Attribute& attribute, const oracle::Row& row, std::size_t column) {
  const Relation one{.name = "", .attributes = {attribute}, .io = {}};
  const std::string text = oracle::line_of(one, {row[column]});
  return attribute.kind == ValueKind::kSymbol ? '"' + text + '"' : text;
}

// What the program puts out is gone; `goal` takes its place: tuples of one relation, mostly with
// some values given, which some tuple has.
std::optional<std::string> asking(const GeneratedProgram& generated, const Program& program,
                                  const oracle::Answer& answer, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<RelationId> derived;
  for (const Rule& rule : program.rules)
    if (!rule.body.empty() && !program.relations[rule.head].attributes.empty() &&
        !answer.relations[rule.head].empty() &&
        program.relations[rule.head].name.find('#') == std::string::npos)
      derived.push_back(rule.head);
  if (derived.empty()) return std::nullopt;
  std::string text;
  std::istringstream lines(generated.text);
  for (std::string line; std::getline(lines, line);)
    if (!line.starts_with(".output") && !line.starts_with(".printsize")) text += line + "\n";
  const RelationId asked = derived[random() % derived.size()];
  const Relation& relation = program.relations[asked];
  auto row = answer.relations[asked].begin();
  std::advance(row, random() % answer.relations[asked].size());
  std::string attributes;
  std::string head;
  std::string body;
  for (std::size_t c = 0; c < relation.attributes.size(); ++c) {
    const Attribute& attribute = relation.attributes[c];
    const std::string separator = c == 0 ? "" : ", ";
    attributes += fmt::format("{}x{}: {}", separator, c, attribute.type_name);
    const bool is_given = random() % 2 == 0 && attribute.kind != ValueKind::kFloat;
    const std::string value = is_given ? constant_of(attribute, *row, c) : fmt::format("x{}", c);
    head += separator + value;
    body += separator + value;
  }
  text += fmt::format(".decl goal({})\n.output goal\ngoal({}) :- {}({}).\n", attributes, head,
                      relation.name, body);
  return text + ".pragma \"magic-transform\" \"*\"\n";
}

struct Counts {
  std::uint64_t compared = 0;
  std::uint64_t restricted = 0;  // programs with a relation of what is asked for
  std::uint64_t smaller = 0;  // programs that derive less
};

oracle::Answer answer_of(const Program& program, const GeneratedProgram& generated) {
  oracle::Oracle oracle(program, parse_facts(program, generated.fact_files), kOracleSteps);
  return oracle.run();
}

// The relations' tuples of the program as a whole, by name; made ones have other names.
std::map<std::string, std::uint64_t> sizes_of(const Program& program,
                                              const oracle::Answer& answer) {
  std::map<std::string, std::uint64_t> sizes;
  for (std::size_t r = 0; r < program.relations.size(); ++r)
    sizes[program.relations[r].name] = answer.relations[r].size();
  return sizes;
}

void run_magic_case(std::uint64_t seed, Counts& counts) {
  const GeneratedProgram generated = ProgramGenerator(seed).generate();
  std::string problems;
  const std::optional<Program> program = compile_text(generated.text, problems);
  ASSERT_TRUE(program) << problems;
  std::optional<Program> restricted;
  std::optional<Expected> expected;
  std::string text;
  std::map<std::string, std::uint64_t> whole;
  try {
    const oracle::Answer answer = answer_of(*program, generated);
    whole = sizes_of(*program, answer);
    const auto asked = asking(generated, *program, answer, seed);
    if (!asked) return;
    text = *asked;
    const std::string plain = text.substr(0, text.rfind(".pragma"));
    const std::optional<Program> unrestricted = compile_text(plain, problems);
    ASSERT_TRUE(unrestricted) << problems << plain;
    expected = expectation_of(*unrestricted, answer_of(*unrestricted, generated));
    restricted = compile_text(text, problems);
    ASSERT_TRUE(restricted) << problems << text;
  } catch (const oracle::GaveUp&) {
    return;
  }
  ++counts.compared;
  counts.restricted += restricted->rules.size() > program->rules.size() + 1 ? 1U : 0U;
  for (const int ranks : {1, 3}) {
    RunOptions options;
    options.allow_pivot = (seed + static_cast<std::uint64_t>(ranks)) % 4 != 0;
    options.mirror_limit_rows = seed % 3 == 0 ? 0 : options.mirror_limit_rows;
    const EngineOutcome outcome = run_engine(*restricted, generated.fact_files, ranks, options);
    ASSERT_TRUE(outcome.status.is_ok()) << "seed " << seed << ": " << outcome.status.to_string();
    const std::string found = sorted_lines(outcome.files.at("goal.csv"));
    ASSERT_EQ(found, expected->files.at("goal.csv"))
        << "seed " << seed << ", " << ranks << " ranks\n"
        << text << text_of(generated.fact_files);
    std::uint64_t here = 0;
    std::uint64_t all = 0;
    for (const RelationSize& size : outcome.report.relations) {
      const auto other = whole.find(size.name);
      if (size.name.find('#') != std::string::npos || other == whole.end()) continue;
      EXPECT_LE(size.rows, other->second) << "seed " << seed << ": " << size.name << "\n"
                                          << text << text_of(generated.fact_files);
      here += size.rows;
      all += other->second;
    }
    counts.smaller += ranks == 1 && here < all ? 1U : 0U;
  }
}

TEST(MagicSets, OutputsAreThoseOfTheWholeProgram) {
  const std::uint64_t first = from_environment("STRATALOG_PROPERTY_SEED", 1);
  const std::uint64_t cases = property_cases(kDefaultCases);
  Counts counts;
  for (std::uint64_t i = 0; i < cases && !::testing::Test::HasFailure(); ++i)
    run_magic_case(first + i, counts);
  const std::string summary =
      fmt::format("{} programs compared, {} with demands, {} with fewer tuples", counts.compared,
                  counts.restricted, counts.smaller);
  ::testing::Test::RecordProperty("summary", summary);
  if (cases < 100) return;
  EXPECT_GT(counts.compared * 3, cases) << summary;
  EXPECT_GT(counts.restricted * 5, counts.compared) << summary;
  EXPECT_GT(counts.smaller * 4, counts.compared) << summary;
}

}  // namespace
}  // namespace stratalog::datalog
