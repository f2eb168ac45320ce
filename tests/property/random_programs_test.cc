// SPDX-License-Identifier: Apache-2.0
// Random programs: the engine against the oracle, at 1, 2, 3 and 7 virtual ranks, with pivot
// evaluation and set-at-a-time rules on and off, and with static relations copied to all ranks or
// left where they are (so that rules hop). Compared are all relations, their sizes, and how many
// tuples each round found. STRATALOG_PROPERTY_CASES sets the number of programs,
// STRATALOG_PROPERTY_SEED the first seed.
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>
#include <sstream>

#include "property/engine_runner.h"
#include "property/oracle.h"
#include "property/program_generator.h"

namespace stratalog::datalog {
namespace {

constexpr std::uint64_t kDefaultCases = 2000;
// So many programs run in every variant; the others in two, which are others each time.
constexpr std::uint64_t kCasesInAllVariants = 300;
constexpr std::uint64_t kOracleSteps = 60'000;
// Batches, bitmaps and mail blocks fill up only with more rows.
constexpr std::uint64_t kLargeCases = 15;
constexpr std::uint64_t kLargeOracleSteps = 600'000;
constexpr ProgramScale kLargeScale{.facts = 2500, .domain = 90};

std::uint64_t from_environment(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

oracle::Value parse_field(ValueKind kind, const std::string& text) {
  switch (kind) {
    case ValueKind::kNumber:
      return {.bits = static_cast<std::uint64_t>(std::stoll(text)), .text = {}};
    case ValueKind::kUnsigned:
      return {.bits = std::stoull(text), .text = {}};
    case ValueKind::kFloat:
      return {.bits = std::bit_cast<std::uint64_t>(std::stod(text)), .text = {}};
    case ValueKind::kSymbol:
      return {.bits = 0, .text = text};
    case ValueKind::kRecord:
      break;  // the generator makes no records
  }
  return {};
}

bool has_directive(const Relation& relation, IoAction action) {
  return std::any_of(relation.io.begin(), relation.io.end(),
                     [&](const IoDirective& d) { return d.action == action; });
}

std::vector<oracle::Rows> parse_facts(const Program& program, const FileTexts& files) {
  std::vector<oracle::Rows> facts(program.relations.size());
  for (std::size_t r = 0; r < facts.size(); ++r) {
    const Relation& relation = program.relations[r];
    const auto file = files.find(relation.name + ".facts");
    if (file == files.end() || !has_directive(relation, IoAction::kInput)) continue;
    std::istringstream lines(file->second);
    for (std::string line; std::getline(lines, line);) {
      oracle::Row row;
      std::size_t at = 0;
      for (const Attribute& attribute : relation.attributes) {
        const std::size_t end = std::min(line.find('\t', at), line.size());
        row.push_back(parse_field(attribute.kind, line.substr(at, end - at)));
        at = end + 1;
      }
      facts[r].insert(std::move(row));
    }
  }
  return facts;
}

struct Expected {
  FileTexts files;  // lines in the order of their text
  std::map<std::string, std::uint64_t> rows;
  std::map<std::string, std::vector<std::uint64_t>>
      new_rows;  // by the names of a stratum's relations
};

Expected expectation_of(const Program& program, const oracle::Answer& answer) {
  Expected expected;
  for (std::size_t r = 0; r < program.relations.size(); ++r) {
    const Relation& relation = program.relations[r];
    std::multiset<std::string> lines;
    for (const oracle::Row& row : answer.relations[r]) lines.insert(oracle::line_of(relation, row));
    const bool has_output = has_directive(relation, IoAction::kOutput);
    if (has_output)
      expected.files[relation.name + ".csv"] = fmt::format("{}\n", fmt::join(lines, "\n"));
    if (has_output && lines.empty()) expected.files[relation.name + ".csv"].clear();
    expected.rows[relation.name] = answer.relations[r].size();
  }
  for (std::size_t s = 0; s < program.strata.size(); ++s) {
    std::string names;
    for (const RelationId r : program.strata[s].relations)
      names += (names.empty() ? "" : ", ") + program.relations[r].name;
    expected.new_rows[names] = answer.new_rows[s];
  }
  return expected;
}

std::string sorted_lines(const std::string& text) {
  std::multiset<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.insert(line);
  std::string sorted;
  for (const std::string& line : lines) sorted += line + "\n";
  return sorted;
}

// Empty if they agree.
std::string difference(const Expected& expected, const EngineOutcome& outcome) {
  if (!outcome.status.is_ok()) return "the engine failed: " + outcome.status.to_string() + "\n";
  std::string text;
  for (const auto& [name, lines] : expected.files) {
    const auto file = outcome.files.find(name);
    if (file == outcome.files.end())
      text += name + " is missing\n";
    else if (sorted_lines(file->second) != lines)
      text += fmt::format("--- {}, expected\n{}--- {}, found\n{}", name, lines, name,
                          sorted_lines(file->second));
  }
  for (const RelationSize& size : outcome.report.relations)
    if (expected.rows.at(size.name) != size.rows)
      text += fmt::format("{}: {} rows reported, expected {}\n", size.name, size.rows,
                          expected.rows.at(size.name));
  for (const StratumReport& stratum : outcome.report.strata) {
    const auto& rounds = expected.new_rows.at(stratum.relations);
    if (stratum.new_tuples_per_round != rounds || stratum.iterations != rounds.size())
      text += fmt::format("{}: new tuples per round [{}] in {} iterations, expected [{}]\n",
                          stratum.relations, fmt::join(stratum.new_tuples_per_round, " "),
                          stratum.iterations, fmt::join(rounds, " "));
  }
  return text;
}

struct Variant {
  int ranks = 1;
  RunOptions options;
  std::string name() const {
    return fmt::format(
        "{} ranks, allow_pivot {}, allow_sets {}, replicate_limit_rows {}, mirror_limit_rows {}, "
        "rebalance_min_rows {}",
        ranks, options.allow_pivot, options.allow_sets, options.replicate_limit_rows,
        options.mirror_limit_rows, options.rebalance_min_rows);
  }
};

std::vector<Variant> variants_for(std::uint64_t seed) {
  std::mt19937_64 random(seed ^ 0x5eedU);
  std::vector<Variant> variants;
  for (const int ranks : {1, 2, 3, 7, 3}) {
    Variant variant{.ranks = ranks, .options = {}};
    variant.options.allow_pivot = random() % 3 != 0;
    variant.options.allow_sets = random() % 3 != 0;
    if (random() % 2 == 0) variant.options.replicate_limit_rows = random() % 3 == 0 ? 4 : 0;
    // Never, until some round, or to the end.
    if (random() % 3 != 0)
      variant.options.mirror_limit_rows = random() % 2 == 0 ? 1 + (random() % 100) : 0;
    if (random() % 2 == 0) variant.options.rebalance_min_rows = 1 + (random() % 8);
    variant.options.keep_round_counts = true;
    variants.push_back(variant);
  }
  return variants;
}

enum class CaseResult : std::uint8_t { kCompared, kTooLarge, kFailed };

// What the oracle says, unless the program does not compile (`problems` says why) or is too large.
std::optional<Expected> ask_oracle(const GeneratedProgram& generated,
                                   std::optional<Program>& program, std::uint64_t steps,
                                   std::string& problems) {
  program = compile_text(generated.text, problems);
  if (!program) return std::nullopt;
  try {
    oracle::Oracle oracle(*program, parse_facts(*program, generated.fact_files), steps);
    return expectation_of(*program, oracle.run());
  } catch (const oracle::GaveUp&) {
    return std::nullopt;
  }
}

// What goes wrong with the program in this variant; empty if nothing, or if it cannot be asked.
std::string complaint(const GeneratedProgram& generated, const Variant& variant) {
  std::optional<Program> program;
  std::string problems;
  const auto expected = ask_oracle(generated, program, kLargeOracleSteps, problems);
  if (!expected) return {};
  return difference(*expected,
                    run_engine(*program, generated.fact_files, variant.ranks, variant.options));
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

// Leaves out lines of the program and of its fact files as long as something goes wrong.
GeneratedProgram shrink(GeneratedProgram failing, const Variant& variant) {
  for (bool progress = true; progress;) {
    progress = false;
    std::vector<std::string> names{""};
    for (const auto& [name, text] : failing.fact_files) names.push_back(name);
    for (const std::string& name : names) {
      std::vector<std::string> lines =
          lines_of(name.empty() ? failing.text : failing.fact_files[name]);
      for (std::size_t l = lines.size(); l-- > 0;) {
        GeneratedProgram smaller = failing;
        std::string& text = name.empty() ? smaller.text : smaller.fact_files[name];
        text.clear();
        for (std::size_t i = 0; i < lines.size(); ++i)
          if (i != l) text += lines[i] + "\n";
        if (complaint(smaller, variant).empty()) continue;
        failing = std::move(smaller);
        lines.erase(lines.begin() + static_cast<std::ptrdiff_t>(l));
        progress = true;
      }
    }
  }
  return failing;
}

std::string describe(const GeneratedProgram& generated) {
  std::string text = generated.text;
  for (const auto& [name, lines] : generated.fact_files)
    text += fmt::format("--- {}\n{}", name, lines);
  return text;
}

enum class Variants : std::uint8_t { kAll, kTwo };

CaseResult run_case(std::uint64_t seed, ProgramScale scale, std::uint64_t steps, Variants which) {
  const GeneratedProgram generated = ProgramGenerator(seed, scale).generate();
  std::optional<Program> program;
  std::string problems;
  const auto expected = ask_oracle(generated, program, steps, problems);
  if (!program) {
    ADD_FAILURE() << "seed " << seed << " does not compile:\n" << problems << describe(generated);
    return CaseResult::kFailed;
  }
  if (!expected) return CaseResult::kTooLarge;
  std::vector<Variant> variants = variants_for(seed);
  if (which == Variants::kTwo) {
    std::rotate(variants.begin(),
                variants.begin() + static_cast<std::ptrdiff_t>(seed % variants.size()),
                variants.end());
    variants.resize(2);
  }
  for (const Variant& variant : variants) {
    const EngineOutcome outcome =
        run_engine(*program, generated.fact_files, variant.ranks, variant.options);
    if (difference(*expected, outcome).empty()) continue;
    const GeneratedProgram small = shrink(generated, variant);
    ADD_FAILURE() << "seed " << seed << ", " << variant.name() << "; smallest form found:\n"
                  << complaint(small, variant) << describe(small);
    return CaseResult::kFailed;
  }
  return CaseResult::kCompared;
}

void run_cases(std::uint64_t cases, ProgramScale scale, std::uint64_t steps) {
  const std::uint64_t first = from_environment("STRATALOG_PROPERTY_SEED", 1);
  std::map<CaseResult, std::uint64_t> results;
  for (std::uint64_t i = 0; i < cases && results[CaseResult::kFailed] < 5; ++i)
    ++results[run_case(first + i, scale, steps,
                       i < kCasesInAllVariants ? Variants::kAll : Variants::kTwo)];
  const std::string summary = fmt::format(
      "{} programs compared, {} too large for the oracle, {} failed",
      results[CaseResult::kCompared], results[CaseResult::kTooLarge], results[CaseResult::kFailed]);
  ::testing::Test::RecordProperty("summary", summary);
  if (cases >= 10) {
    EXPECT_GT(results[CaseResult::kCompared] * 3, cases) << summary;
  }
}

TEST(RandomPrograms, EngineAgreesWithTheOracle) {
  run_cases(from_environment("STRATALOG_PROPERTY_CASES", kDefaultCases), {}, kOracleSteps);
}

TEST(RandomPrograms, EngineAgreesWithTheOracleOnMoreRows) {
  const std::uint64_t cases = from_environment("STRATALOG_PROPERTY_CASES", kDefaultCases);
  run_cases(cases * kLargeCases / kDefaultCases, kLargeScale, kLargeOracleSteps);
}

}  // namespace
}  // namespace stratalog::datalog
