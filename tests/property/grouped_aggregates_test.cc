// SPDX-License-Identifier: Apache-2.0
// Random aggregates over joins, most of them of what their rule joins as well, of other values: as
// people write groups. The engine, which makes relations of such bodies (gathered_bodies.h,
// body_copy.h) and counts by whole sets (find_counted_sets), against the oracle, which takes the
// rules as they are written. STRATALOG_PROPERTY_CASES sets the number of programs,
// STRATALOG_PROPERTY_SEED the first seed.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <random>

#include "datalog/language/compile.h"
#include "datalog/plan/program_plan.h"
#include "property/campaign_size.h"
#include "property/engine_runner.h"
#include "property/expected_outcome.h"
#include "property/oracle.h"

namespace stratalog::datalog {
namespace {

constexpr std::uint64_t kDefaultPrograms = 1500;
constexpr std::uint64_t kMostOracleSteps = 200'000;

using Names = std::vector<std::string>;

class GroupWriter {
 public:
  explicit GroupWriter(std::uint64_t seed) : random_(seed) {}

  std::string write() {
    write_facts();
    for (int rule = 0; rule < 2; ++rule) write_rule(fmt::format("r{}", rule));
    return text_;
  }

 private:
  std::uint32_t below(std::uint32_t bound) { return static_cast<std::uint32_t>(random_() % bound); }
  bool chance(std::uint32_t percent) { return below(100) < percent; }
  const std::string& any(const Names& names) {
    return names[below(static_cast<std::uint32_t>(names.size()))];
  }

  void write_facts() {
    for (const auto& [name, arity] : {std::pair("e", 2), {"f", 2}, {"w", 3}, {"a", 1}}) {
      Names columns;
      for (int c = 0; c < arity; ++c) columns.push_back(fmt::format("x{}: number", c));
      text_ += fmt::format(".decl {}({})\n", name, fmt::join(columns, ", "));
      const std::uint32_t facts = arity == 1 ? 2 + below(5) : 5 + below(50);
      for (std::uint32_t i = 0; i < facts; ++i) {
        Names values;
        for (int c = 0; c < arity; ++c)
          values.push_back(std::to_string(static_cast<int>(below(9)) - 1));
        text_ += fmt::format("{}({}).\n", name, fmt::join(values, ", "));
      }
    }
  }

  std::string atom(const Names& names) {
    switch (below(10)) {
      case 0:
      case 1:
      case 2:
      case 3:
        return fmt::format("e({}, {})", any(names), any(names));
      case 4:
      case 5:
        return fmt::format("f({}, {})", any(names), any(names));
      case 6:
        return fmt::format("w({}, {}, {})", any(names), any(names), any(names));
      case 7:
        return fmt::format("w({}, _, {})", any(names), any(names));
      case 8:
        return fmt::format("e({} + 1, {})", any(names), any(names));
      default:
        return fmt::format("a({})", any(names));
    }
  }

  std::string test(const Names& names) {
    switch (below(5)) {
      case 0:
        return fmt::format("{} < {}", any(names), any(names));
      case 1:
        return fmt::format("{} != {}", any(names), any(names));
      case 2:
        return fmt::format("!f({}, {})", any(names), any(names));
      case 3:
        return fmt::format("{} = {} + 1", any(names), any(names));
      default:
        return fmt::format("!a({})", any(names));
    }
  }

  // Variables k and l are p and q within the aggregate.
  static std::string renamed(std::string literal) {
    for (std::size_t i = 0; i < literal.size(); ++i) {
      const bool is_alone = i == 0 || !std::isalnum(static_cast<unsigned char>(literal[i - 1]));
      if (is_alone && literal[i] == 'k') literal[i] = 'p';
      if (is_alone && literal[i] == 'l') literal[i] = 'q';
    }
    return literal;
  }

  static bool names_any(const Names& literals, char variable) {
    return std::ranges::any_of(literals, [&](const std::string& literal) {
      return literal.find(fmt::format("{}", variable)) != std::string::npos;
    });
  }

  static void replace_middle(std::string& literal, const std::string& by) {
    const std::size_t first = literal.find(", ") + 2;
    literal.replace(first, literal.find(", ", first) - first, by);
  }
  static void leave_out_middle(std::string& literal) { replace_middle(literal, "_"); }

  void write_rule(const std::string& name) {
    const Names outer{"x", "y"};
    const Names own = chance(60) ? Names{"x", "y", "k"} : Names{"x", "y", "k", "l"};
    const Names inside{"x", "y", "p"};
    Names body;
    if (chance(30))
      body = {atom({"x", "k"}), atom({"y", "k"}), fmt::format("{}(x, y)", chance(50) ? "e" : "f")};
    else
      for (std::uint32_t i = 0; i < 2 + below(2); ++i) body.push_back(atom(own));
    if (chance(35)) body.push_back(test(own));
    Names aggregated;
    for (const std::string& literal : body) aggregated.push_back(renamed(literal));
    // What one side leaves out the other may name, or ask for a constant or the same value twice.
    for (Names* side : {&body, &aggregated})
      for (std::string& literal : *side)
        if (literal.starts_with("w(") && chance(40)) leave_out_middle(literal);
    for (std::string& literal : body)
      if (literal.starts_with("w(") && chance(25)) replace_middle(literal, any({"2", "k", "x"}));
    if (chance(40)) aggregated.pop_back();
    if (chance(25)) aggregated.push_back(atom(inside));
    if (chance(30)) aggregated.push_back(test(inside));
    if (chance(25)) std::ranges::shuffle(aggregated, random_);
    if (chance(25)) body = {atom({"x", "y", "k"}), atom({"x", "y", "k"})};
    if (chance(30)) body.push_back(atom({"x", "y", "m"}));
    if (chance(15)) body = {"a(x)", "a(y)"};
    if (chance(40)) body.push_back("a(x)");
    if (chance(40)) body.push_back("a(y)");
    Names head{"x", "y", "n"};
    if (chance(25) && names_any(body, 'k')) head.push_back("k");
    const Names functions{"count", "count", "sum", "sum", "min", "max"};
    std::string function = any(functions);
    const std::string summed = names_any(aggregated, 'p') ? "p" : "x";
    const bool is_float = chance(15);
    if (is_float)  // whose sums depend on the order, if each is rounded
      function = fmt::format("{} to_float({}) / 10.0", chance(70) ? "sum" : "mean", summed);
    else if (function != "count")
      function += " " + summed;
    std::string more;
    if (chance(25)) {
      more = fmt::format(", c = count : {{ {} }}", fmt::join(aggregated, ", "));
      head.push_back("c");
    }
    const Names wanted{"n > 1", "n > 0", "0 != n", "n >= 2", "n = 1", "n < 0", "n > -1", "n != 2"};
    if (chance(40)) more += ", " + any(wanted);
    Names columns;
    for (std::size_t i = 0; i < head.size(); ++i)
      columns.push_back(fmt::format("h{}: {}", i, is_float && i == 2 ? "float" : "number"));
    text_ += fmt::format(".decl {0}({1})\n.output {0}\n{0}({2}) :- {3}, n = {4} : {{ {5} }}{6}.\n",
                         name, fmt::join(columns, ", "), fmt::join(head, ", "),
                         fmt::join(body, ", "), function, fmt::join(aggregated, ", "), more);
  }

  std::mt19937_64 random_;
  std::string text_;
};

std::optional<Program> compiled_if_right(const std::string& text, MagicSets magic_sets) {
  CompileOptions options;
  options.magic_sets = magic_sets;
  CompileOutcome outcome = compile({.name = "g.dl", .text = text}, options);
  if (!outcome.is_ok()) return std::nullopt;
  return std::move(outcome.program);
}

std::optional<Expected> expected_of(const Program& written) {
  try {
    oracle::Oracle oracle(written, parse_facts(written, {}), kMostOracleSteps);
    return expectation_of(written, oracle.run());
  } catch (const oracle::GaveUp&) {
    return std::nullopt;
  }
}

bool counts_sets(const Program& program) {
  const auto plan = plan_program(program, {});
  return plan.is_ok() && explain(program, plan.value()).find(" in sets of ") != std::string::npos;
}

RunOptions some_options(std::mt19937_64& random) {
  RunOptions options;
  options.allow_sets = random() % 4 != 0;
  if (random() % 2 == 0) options.replicate_limit_rows = random() % 2 == 0 ? 4 : 0;
  return options;
}

TEST(GroupedAggregates, GiveWhatTheRulesSay) {
  const std::uint64_t first = from_environment("STRATALOG_PROPERTY_SEED", 1);
  const std::uint64_t programs = property_cases(kDefaultPrograms);
  std::uint64_t compared = 0;
  std::uint64_t rewritten = 0;
  std::uint64_t in_sets = 0;
  for (std::uint64_t seed = first; seed < first + programs && !HasFailure(); ++seed) {
    const std::string text = GroupWriter(seed).write();
    const auto written = compiled_if_right(text, MagicSets::kMark);
    const auto evaluated = compiled_if_right(text, MagicSets::kApply);
    ASSERT_EQ(written.has_value(), evaluated.has_value()) << text;
    if (!written) continue;
    const auto expected = expected_of(*written);
    if (!expected) continue;
    ++compared;
    if (!std::ranges::equal(evaluated->rules, written->rules, {}, &Rule::text, &Rule::text))
      ++rewritten;
    if (counts_sets(*evaluated)) ++in_sets;
    std::mt19937_64 random(seed);
    for (const int ranks : {1, 2 + static_cast<int>(seed % 2)}) {
      const RunOptions options = some_options(random);
      const AddressSpace space =
          random() % 2 == 0 ? AddressSpace::kShared : AddressSpace::kSeparate;
      const EngineOutcome outcome =
          run_engine(*evaluated, {}, ranks, options, {}, {}, nullptr, {}, space);
      ASSERT_TRUE(outcome.status.is_ok()) << outcome.status.to_string() << "\n" << text;
      for (const auto& [file, lines] : expected->files)
        EXPECT_EQ(sorted_lines(outcome.files.at(file)), lines)
            << "seed " << seed << ", " << ranks << " ranks, sets " << options.allow_sets << "\n"
            << text;
    }
  }
  RecordProperty("summary",
                 fmt::format("{} programs compared, {} with other rules than written, {} "
                             "that count whole sets",
                             compared, rewritten, in_sets));
  if (programs >= 100) {
    EXPECT_GT(compared * 5, programs);
    EXPECT_GT(rewritten * 15, compared);
    EXPECT_GT(in_sets * 12, compared);
  }
}

}  // namespace
}  // namespace stratalog::datalog
