// SPDX-License-Identifier: Apache-2.0
#include "cli/souffle_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <string_view>

namespace stratalog::cli {
namespace {

struct SouffleOption {
  std::string_view brief;  // empty: it has a long name only
  std::string_view name;
  std::string_view advice;
};

constexpr std::string_view kNotCompiled = "leave it out: programs are not compiled";
constexpr std::string_view kNoTransformers =
    "leave it out: it changes how Soufflé computes, not what";

constexpr std::array kOptions = {
    SouffleOption{"-c", "--compile", kNotCompiled},
    SouffleOption{"-C", "--compile-many", kNotCompiled},
    SouffleOption{"-o", "--dl-program", kNotCompiled},
    SouffleOption{"-g", "--generate", kNotCompiled},
    SouffleOption{"-G", "--generate-many", kNotCompiled},
    SouffleOption{"-s", "--swig", "see docs/python.md and docs/library.md"},
    SouffleOption{"-p", "", "write --profile FILE"},
    SouffleOption{"-w", "--no-warn", "leave it out: warnings go to standard error and end no run"},
    SouffleOption{"-W", "--warn", "leave it out: all warnings are on"},
    SouffleOption{"", "--wno", "leave it out: warnings go to standard error and end no run"},
    SouffleOption{"", "--no-preprocessor",
                  "leave it out: the preprocessor runs only for programs with lines that begin "
                  "with #, or with -M"},
    SouffleOption{"", "--preprocessor", "run it yourself and pass its output"},
    SouffleOption{"-P", "--pragma", "write .pragma into the program"},
    SouffleOption{"-t", "--provenance", "use --checkpoint DIR, then stratalog why DIR 'TUPLE'"},
    SouffleOption{"-z", "--disable-transformers", kNoTransformers},
    SouffleOption{"-a", "--auto-schedule", kNoTransformers},
    SouffleOption{"-r", "--debug-report", "see stratalog explain PROGRAM.dl"},
    SouffleOption{"", "--show", "see stratalog explain PROGRAM.dl"},
};

// `-pFILE` is not looked for: `-profile` may be a slip for something else.
bool is_option(std::string_view word, const SouffleOption& option) {
  if (!word.starts_with('-')) return false;
  return word == option.brief || word.substr(0, word.find('=')) == option.name;
}

}  // namespace

std::string advice_on_souffle_options(const std::vector<std::string>& arguments) {
  std::string advice;
  std::set<std::string_view> said;
  for (const std::string& word : arguments) {
    if (word == "--") break;
    const auto* const option = std::ranges::find_if(
        kOptions, [&](const SouffleOption& each) { return is_option(word, each); });
    if (option == kOptions.end()) continue;
    const std::string_view written = word.starts_with("--") ? option->name : option->brief;
    if (said.insert(written).second)
      advice += fmt::format("{} is an option of Soufflé; {}\n", written, option->advice);
  }
  return advice;
}

}  // namespace stratalog::cli
