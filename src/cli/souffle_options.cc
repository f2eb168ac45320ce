// SPDX-License-Identifier: Apache-2.0
#include "cli/souffle_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

namespace stratalog::cli {
namespace {

constexpr std::string_view kNotCompiled = "leave it out: programs are not compiled";
constexpr std::string_view kNoTransformers =
    "leave it out: it changes how Soufflé computes, not what";
constexpr std::string_view kWarningsGoOn =
    "leave it out: warnings go to standard error and end no run";
constexpr std::string_view kSeeExplain = "see stratalog explain PROGRAM.dl";

constexpr SouffleOption option_of_ours(std::string_view brief, std::string_view name,
                                       std::string_view own, std::string_view advice = {}) {
  return {.brief = brief,
          .name = name,
          .has_value = true,
          .use = SouffleUse::kOurs,
          .ours = own,
          .advice = advice};
}

constexpr SouffleOption idle_option(std::string_view brief, std::string_view name, bool has_value,
                                    std::string_view advice) {
  return {.brief = brief,
          .name = name,
          .has_value = has_value,
          .use = SouffleUse::kIdle,
          .advice = advice};
}

constexpr SouffleOption refused_option(std::string_view brief, std::string_view name,
                                       bool has_value, std::string_view advice) {
  return {.brief = brief,
          .name = name,
          .has_value = has_value,
          .use = SouffleUse::kRefused,
          .advice = advice};
}

constexpr SouffleOption flag_of_ours(std::string_view brief, std::string_view name) {
  return {.brief = brief, .name = name, .use = SouffleUse::kOurs, .ours = name};
}

constexpr std::array kOptions = {
    idle_option("-a", "--auto-schedule", true, kNoTransformers),
    idle_option("-c", "--compile", false, kNotCompiled),
    idle_option("-C", "--compile-many", false, kNotCompiled),
    refused_option("-r", "--debug-report", true, kSeeExplain),
    idle_option("-z", "--disable-transformers", true, kNoTransformers),
    refused_option("-o", "--dl-program", true, kNotCompiled),
    idle_option("", "--emit-statistics", false, "leave it out: sizes are looked at during the run"),
    option_of_ours("-F", "--fact-dir", "--fact-dir"),
    refused_option("-g", "--generate", true, kNotCompiled),
    refused_option("-G", "--generate-many", true, kNotCompiled),
    idle_option("-N", "--generate-namespace", true, kNotCompiled),
    flag_of_ours("-h", "--help"),
    option_of_ours("-I", "--include-dir", "--include-dir"),
    idle_option("", "--inline-exclude", true, kNoTransformers),
    option_of_ours("-j", "--jobs", "--jobs"),
    idle_option("", "--legacy", false,
                "leave it out: programs of older versions are read as they are"),
    option_of_ours("-l", "--libraries", "--library", "write --library NAME"),
    option_of_ours("-L", "--library-dir", "--library-dir"),
    idle_option("", "--live-profile", false, "write --progress for a live view"),
    option_of_ours("-M", "--macro", "--macro"),
    option_of_ours("-m", "--magic-transform", "--magic-transform"),
    option_of_ours("", "--magic-transform-exclude", "--magic-transform-exclude"),
    refused_option("", "--no-preprocessor", false,
                   "leave it out: the preprocessor runs only for programs with lines that begin "
                   "with #, or with -M"),
    idle_option("-w", "--no-warn", false,
                "leave it out: warnings go to standard error and end no run; fact files must be "
                "there"),
    option_of_ours("-D", "--output-dir", "--output-dir"),
    idle_option("", "--parse-errors", false, "see stratalog check PROGRAM.dl"),
    refused_option("-P", "--pragma", true, "write .pragma into the program"),
    refused_option("", "--preprocessor", true, "run it yourself and pass its output"),
    option_of_ours("-p", "--profile", "--profile", "write --profile FILE"),
    idle_option("", "--profile-frequency", false, "leave it out: a profile has such counts"),
    refused_option("-t", "--provenance", true,
                   "use --checkpoint DIR, then stratalog why DIR 'TUPLE'"),
    refused_option("", "--show", true, kSeeExplain),
    refused_option("-s", "--swig", true, "see docs/python.md and docs/library.md"),
    flag_of_ours("-v", "--verbose"),
    flag_of_ours("", "--version"),
    idle_option("-W", "--warn", true, "leave it out: all warnings are on"),
    idle_option("", "--wno", true, kWarningsGoOn),
};

// `-pFILE` is not looked for: `-profile` may be a slip for something else. Of --profile, whose long
// name `run` has as well, only the short one is somebody else's.
bool is_option(std::string_view word, const SouffleOption& option) {
  if (!word.starts_with('-') || option.advice.empty()) return false;
  if (word == option.brief) return option.brief != "-l";
  return option.ours != option.name && word.substr(0, word.find('=')) == option.name;
}

}  // namespace

std::span<const SouffleOption> souffle_options() { return kOptions; }

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
