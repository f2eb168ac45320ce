// SPDX-License-Identifier: Apache-2.0
// The programs of the benchmark collection beside the project, where it is present: all of them
// compile.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "unit/language/outcome_of.h"

namespace stratalog::datalog {
namespace {

std::filesystem::path rules_directory() {
  const char* shared = std::getenv("STRATALOG_SHARED");
  const std::filesystem::path root =
      shared != nullptr ? std::filesystem::path(shared)
                        : std::filesystem::path(STRATALOG_SOURCE_DIR) / ".." / "shared";
  return root / "data" / "rules";
}

std::vector<std::filesystem::path> programs() {
  std::vector<std::filesystem::path> found;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(rules_directory(), error)) {
    if (entry.path().extension() == ".dl") found.push_back(entry.path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

TEST(SharedPrograms, AllCompile) {
  const std::vector<std::filesystem::path> found = programs();
  if (found.empty()) GTEST_SKIP() << "no programs in " << rules_directory();
  for (const std::filesystem::path& path : found) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    const CompileOutcome outcome = compile({path.string(), text.str()});
    EXPECT_TRUE(outcome.is_ok()) << path << "\n" << render_all(outcome.diagnostics);
    if (outcome.is_ok()) {
      EXPECT_FALSE(outcome.program->rules.empty()) << path;
    }
  }
}

}  // namespace
}  // namespace stratalog::datalog
