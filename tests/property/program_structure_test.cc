// SPDX-License-Identifier: Apache-2.0
// Random programs against themselves, written differently: wrapped in a component, with
// declarations inherited from another component, and with each relation that may be inlined
// inlined. The outputs must be the same, and the plain form is compared with the oracle by
// random_programs_test. STRATALOG_PROPERTY_CASES sets the number of programs,
// STRATALOG_PROPERTY_SEED the first seed.
#include <gtest/gtest.h>

#include <functional>
#include <sstream>

#include "property/campaign_size.h"
#include "property/engine_runner.h"
#include "property/program_generator.h"

namespace stratalog::datalog {
namespace {

constexpr std::uint64_t kDefaultCases = 300;

struct Written {
  std::string text;
  FileTexts fact_files;
};

FileTexts with_prefix(const FileTexts& files, const std::string& prefix) {
  FileTexts result;
  for (const auto& [name, text] : files) result[prefix + name] = text;
  return result;
}

Written in_a_component(const GeneratedProgram& plain) {
  return {".comp C {\n" + plain.text + "}\n.init c = C\n", with_prefix(plain.fact_files, "c.")};
}

// Rules stand in a component that extends the one with declarations, which is nested.
Written by_inheritance(const GeneratedProgram& plain) {
  std::string declarations;
  std::string rules;
  std::istringstream lines(plain.text);
  for (std::string line; std::getline(lines, line);)
    (line.starts_with('.') ? declarations : rules) += line + "\n";
  return {".comp Outer {\n.comp Base {\n" + declarations + "}\n.comp C : Base {\n" + rules +
              "}\n.init c = C\n}\n.init o = Outer\n",
          with_prefix(plain.fact_files, "o.c.")};
}

Written with_inlined(const GeneratedProgram& plain, const std::string& relation) {
  Written written{{}, plain.fact_files};
  std::istringstream lines(plain.text);
  for (std::string line; std::getline(lines, line);) {
    if (line == ".output " + relation || line == ".printsize " + relation) continue;
    if (line.starts_with(".decl " + relation + "(")) line += " inline";
    written.text += line + "\n";
  }
  return written;
}

// Of the rules as they are written: what is evaluated may recurse less.
std::vector<std::string> relations_to_inline(const Program& program) {
  std::vector<std::string> names;
  for (const Stratum& stratum : program.strata) {
    const Relation& relation = program.relations[stratum.relations.front()];
    const bool is_read =
        std::any_of(relation.io.begin(), relation.io.end(),
                    [](const IoDirective& io) { return io.action == IoAction::kInput; });
    if (!stratum.is_recursive && !stratum.rules.empty() && !is_read &&
        relation.name.find('#') == std::string::npos) {
      names.push_back(relation.name);
    }
  }
  return names;
}

// Empty if `written` gives the files of `expected` under `prefix`.
std::string difference(const FileTexts& expected, const Written& written, const std::string& prefix,
                       const std::string& left_out) {
  std::string problems;
  const std::optional<Program> program = compile_text(written.text, problems);
  // Written out, a program may grow past the limits of the language.
  if (!program && problems.find("too large") != std::string::npos) return {};
  if (!program && problems.find("stands for") != std::string::npos) return {};
  if (!program) return "does not compile:\n" + problems;
  const EngineOutcome outcome = run_engine(*program, written.fact_files, 2, {});
  if (!outcome.status.is_ok()) return outcome.status.to_string();
  for (const auto& [name, text] : expected) {
    if (name == left_out) continue;
    const auto found = outcome.files.find(prefix + name);
    if (found == outcome.files.end()) return prefix + name + " is missing";
    if (found->second != text)
      return fmt::format("--- {}, expected\n{}--- found\n{}", name, text, found->second);
  }
  return {};
}

TEST(ProgramStructure, ComponentsAndInliningChangeNothing) {
  const std::uint64_t cases = property_cases(kDefaultCases);
  const std::uint64_t first = from_environment("STRATALOG_PROPERTY_SEED", 1);
  std::uint64_t inlined = 0;
  for (std::uint64_t seed = first; seed < first + cases && !HasFailure(); ++seed) {
    const GeneratedProgram plain = ProgramGenerator(seed, {}).generate();
    std::string problems;
    const std::optional<Program> program = compile_text(plain.text, problems);
    ASSERT_TRUE(program) << problems;
    const EngineOutcome outcome = run_engine(*program, plain.fact_files, 1, {});
    ASSERT_TRUE(outcome.status.is_ok()) << outcome.status.to_string();
    const auto check = [&](const Written& written, const std::string& prefix,
                           const std::string& left_out) {
      EXPECT_EQ(difference(outcome.files, written, prefix, left_out), "") << "seed " << seed << "\n"
                                                                          << written.text;
    };
    check(in_a_component(plain), "c.", "");
    check(by_inheritance(plain), "o.c.", "");
    for (const std::string& relation :
         relations_to_inline(compiled(plain.text, MagicSets::kMark))) {
      check(with_inlined(plain, relation), "", relation + ".csv");
      ++inlined;
    }
  }
  if (cases >= 100) {
    EXPECT_GT(inlined, cases);
  }
}

}  // namespace
}  // namespace stratalog::datalog
