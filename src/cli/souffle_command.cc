// SPDX-License-Identifier: Apache-2.0
#include "cli/souffle_command.h"

#include <algorithm>
#include <array>

namespace stratalog::cli {
namespace {

// The answer is the same without them.
constexpr std::array<std::string_view, 8> kIdle{
    "-c", "--compile", "-C",       "--compile-many",
    "-w", "--no-warn", "--legacy", "--profile-frequency"};
// The same with a value: behind a name of one letter, behind `=`, or the next argument.
constexpr std::array<std::string_view, 10> kIdleWithValue{
    "-a", "--auto-schedule",        "-N",    "--generate-namespace", "-W", "--warn",
    "-z", "--disable-transformers", "--wno", "--inline-exclude"};

bool is_one_of(std::string_view word, const auto& words) {
  return std::ranges::find(words, word) != words.end();
}

}  // namespace

bool is_named_souffle(std::string_view program) {
  return program.substr(program.rfind('/') + 1) == "souffle";
}

std::vector<std::string> arguments_from_souffle(const std::vector<std::string>& arguments) {
  if (std::ranges::find(arguments, "--version") != arguments.end()) return {"--version"};
  std::vector<std::string> result{"run"};
  bool is_verbose = false;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& word = arguments[i];
    const bool is_long = word.starts_with("--");
    const std::string_view name =
        std::string_view(word).substr(0, is_long ? word.find('=') : std::size_t{2});
    const bool has_value = name.size() < word.size();
    is_verbose |= word == "-v" || word == "--verbose";
    if (is_one_of(word, kIdle)) continue;
    if (is_one_of(name, kIdleWithValue)) {
      i += has_value ? 0 : 1;
      continue;
    }
    if (name == "-p") {
      result.emplace_back("--profile");
      if (has_value) result.push_back(word.substr(name.size()));
      continue;
    }
    result.push_back(word);
  }
  // Soufflé says nothing of its own.
  if (!is_verbose) result.emplace_back("--quiet");
  return result;
}

}  // namespace stratalog::cli
