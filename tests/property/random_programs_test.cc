// SPDX-License-Identifier: Apache-2.0
// Random programs: the engine against the oracle, at 1, 2, 3 and 7 virtual ranks, with pivot
// evaluation and set-at-a-time rules on and off, and with static relations copied to all ranks or
// left where they are (so that rules hop, or read
// other ranks' shards where these share memory), with join orders of the program's own and without.
// Compared are all relations, their sizes, and how
// many tuples each round found. STRATALOG_PROPERTY_CASES sets the number of programs,
// STRATALOG_PROPERTY_SEED the first seed.
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

constexpr std::uint64_t kDefaultCases = 2000;
// So many programs run in every variant; the others in two, which are others each time.
constexpr std::uint64_t kCasesInAllVariants = 300;
constexpr std::uint64_t kOracleSteps = 60'000;
// Batches, bitmaps and mail blocks fill up only with more rows.
constexpr std::uint64_t kLargeCases = 15;
constexpr std::uint64_t kLargeOracleSteps = 600'000;
constexpr ProgramScale kLargeScale{.facts = 2500, .domain = 90};

// Empty if they agree, round by round too.
std::string difference(const Expected& expected, const EngineOutcome& outcome) {
  std::string text = difference_of_relations(expected, outcome);
  if (!outcome.status.is_ok()) return text;
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
  AddressSpace space = AddressSpace::kSeparate;
  std::optional<std::uint64_t> order_seed;  // rules are joined as if each had a random `.plan`
  std::string name() const {
    return (order_seed ? fmt::format("join orders of seed {}, ", *order_seed) : "") +
           fmt::format(
               "{} ranks, allow_pivot {}, allow_sets {}, replicate_limit_rows {}, "
               "mirror_limit_rows {}, "
               "rebalance_min_rows {}, read_swept_min_rows {}, order_slots_min_seeds {}, "
               "guess_growth_min_seeds {}, {} memory",
               ranks, options.allow_pivot, options.allow_sets, options.replicate_limit_rows,
               options.mirror_limit_rows, options.rebalance_min_rows, options.read_swept_min_rows,
               options.order_slots_min_seeds, options.guess_growth_min_seeds,
               space == AddressSpace::kShared ? "one" : "each its");
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
    if (random() % 2 == 0) variant.options.read_swept_min_rows = 0;
    variant.options.keep_round_counts = true;
    if (random() % 2 == 0) variant.space = AddressSpace::kShared;
    if (random() % 2 == 0) variant.options.order_slots_min_seeds = 0;
    if (random() % 3 == 0) variant.options.guess_growth_min_seeds = 0;
    if (random() % 3 == 0) variant.order_seed = random();
    variants.push_back(variant);
  }
  return variants;
}

// What `.plan` with orders of all kinds does to the rules: for most recursive atoms of a rule.
void give_join_orders(Program& program, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  for (const Stratum& stratum : program.strata) {
    std::vector<std::uint32_t> rules = stratum.rules;
    rules.insert(rules.end(), stratum.subsumptions.begin(), stratum.subsumptions.end());
    for (const std::uint32_t r : rules) {
      Rule& rule = program.rules[r];
      JoinOrder order;
      for (std::uint32_t l = 0; l < rule.body.size(); ++l)
        if (rule.body[l].kind == LiteralKind::kAtom) order.atoms.push_back(l);
      for (const std::uint32_t atom : std::vector<std::uint32_t>(order.atoms)) {
        if (!std::ranges::binary_search(stratum.relations, rule.body[atom].atom.relation) ||
            random() % 4 == 0)
          continue;
        std::ranges::shuffle(order.atoms, random);
        order.delta_literal = atom;
        rule.join_orders.push_back(order);
      }
    }
  }
}

EngineOutcome run_variant(const GeneratedProgram& generated, Program program,
                          const Variant& variant) {
  if (variant.order_seed) give_join_orders(program, *variant.order_seed);
  return run_engine(program, generated.fact_files, variant.ranks, variant.options, {}, {}, nullptr,
                    {}, variant.space);
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
  return difference(*expected, run_variant(generated, *program, variant));
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
  return generated.text + text_of(generated.fact_files);
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
  // Random orders make products of relations, which take long where there are many rows.
  if (scale.facts >= kLargeScale.facts)
    for (Variant& variant : variants) variant.order_seed.reset();
  if (which == Variants::kTwo) {
    std::rotate(variants.begin(),
                variants.begin() + static_cast<std::ptrdiff_t>(seed % variants.size()),
                variants.end());
    variants.resize(2);
  }
  for (const Variant& variant : variants) {
    const EngineOutcome outcome = run_variant(generated, *program, variant);
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
  run_cases(property_cases(kDefaultCases), {}, kOracleSteps);
}

TEST(RandomPrograms, EngineAgreesWithTheOracleOnMoreRows) {
  const std::uint64_t cases = property_cases(kDefaultCases);
  run_cases(cases * kLargeCases / kDefaultCases, kLargeScale, kLargeOracleSteps);
}

}  // namespace
}  // namespace stratalog::datalog
