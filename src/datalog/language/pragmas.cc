// SPDX-License-Identifier: Apache-2.0
#include "datalog/language/pragmas.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "datalog/language/spelling.h"

namespace stratalog::datalog::language {
namespace {

enum class Meaning : std::uint8_t {
  kOneValue,  // the command has it
  kManyValues,  // the command has it, and each line adds one
  kTooLate,  // the command has it, but has used it when it knows the program
  kForCompiler,  // the compiler has it, and has seen it
  kComputesOnly,  // changes how Soufflé computes, not what
  kOther,  // about what only Soufflé has
};

struct KnownPragma {
  std::string_view name;
  Meaning meaning;
  std::string_view instead = {};  // what to give to the command
};

constexpr std::array kPragmas = {
    KnownPragma{"fact-dir", Meaning::kOneValue},
    KnownPragma{"output-dir", Meaning::kOneValue},
    KnownPragma{"libraries", Meaning::kManyValues},
    KnownPragma{"library-dir", Meaning::kManyValues},
    KnownPragma{"include-dir", Meaning::kTooLate, "-I DIR"},
    KnownPragma{"jobs", Meaning::kTooLate, "-j N"},
    KnownPragma{"macro", Meaning::kTooLate, "-M NAME=VALUE"},
    KnownPragma{"no-warn", Meaning::kTooLate, "-q"},
    KnownPragma{"profile", Meaning::kTooLate, "--profile FILE"},
    KnownPragma{"verbose", Meaning::kTooLate, "-v"},
    KnownPragma{"auto-schedule", Meaning::kComputesOnly},
    KnownPragma{"disable-transformers", Meaning::kComputesOnly},
    KnownPragma{"emit-statistics", Meaning::kComputesOnly},
    KnownPragma{"inline-exclude", Meaning::kComputesOnly},
    KnownPragma{"magic-transform", Meaning::kForCompiler},
    KnownPragma{"magic-transform-exclude", Meaning::kForCompiler},
    KnownPragma{"compile", Meaning::kOther},
    KnownPragma{"compile-many", Meaning::kOther},
    KnownPragma{"debug-report", Meaning::kOther},
    KnownPragma{"dl-program", Meaning::kOther},
    KnownPragma{"generate", Meaning::kOther},
    KnownPragma{"generate-many", Meaning::kOther},
    KnownPragma{"generate-namespace", Meaning::kOther},
    KnownPragma{"legacy", Meaning::kOther},
    KnownPragma{"live-profile", Meaning::kOther},
    KnownPragma{"no-preprocessor", Meaning::kOther},
    KnownPragma{"parse-errors", Meaning::kOther},
    KnownPragma{"pragma", Meaning::kOther},
    KnownPragma{"preprocessor", Meaning::kOther},
    KnownPragma{"profile-frequency", Meaning::kOther},
    KnownPragma{"provenance", Meaning::kOther, "`stratalog why`"},
    KnownPragma{"show", Meaning::kOther},
    KnownPragma{"swig", Meaning::kOther},
    KnownPragma{"warn", Meaning::kOther},
    KnownPragma{"wno", Meaning::kOther},
};

bool has_meaning(Meaning meaning) {
  return meaning == Meaning::kOneValue || meaning == Meaning::kManyValues ||
         meaning == Meaning::kForCompiler;
}

std::string why_ignored(const KnownPragma& known) {
  if (known.meaning == Meaning::kTooLate)
    return fmt::format("give `{}` to the command", known.instead);
  if (known.meaning == Meaning::kComputesOnly) return "it changes how Soufflé computes, not what";
  if (!known.instead.empty()) return fmt::format("see {}", known.instead);
  std::vector<std::string_view> names;
  for (const KnownPragma& each : kPragmas)
    if (has_meaning(each.meaning)) names.push_back(each.name);
  const std::string_view last = names.back();
  names.pop_back();
  return fmt::format("the names that have a meaning are {} and {}", fmt::join(names, ", "), last);
}

void warn_unknown(const NameSyntax& key, DiagnosticSink& sink) {
  std::vector<std::string> names;
  names.reserve(std::size(kPragmas));
  for (const KnownPragma& known : kPragmas) names.emplace_back(known.name);
  DiagnosticDraft& draft =
      sink.warning(key.span, fmt::format("`.pragma \"{}\"` is unknown and ignored", key.name));
  draft.hint = suggest(key.name, names);
}

}  // namespace

std::vector<Pragma> take_pragmas(const std::vector<PragmaSyntax>& pragmas, DiagnosticSink& sink) {
  std::vector<Pragma> taken;
  for (const PragmaSyntax& pragma : pragmas) {
    const auto known = std::find_if(kPragmas.begin(), kPragmas.end(), [&](const KnownPragma& k) {
      return k.name == pragma.key.name;
    });
    if (known == kPragmas.end()) {
      warn_unknown(pragma.key, sink);
      continue;
    }
    if (known->meaning == Meaning::kForCompiler) continue;
    if (known->meaning == Meaning::kOneValue) {
      const auto before = std::find_if(taken.begin(), taken.end(), [&](const Pragma& other) {
        return other.name == pragma.key.name;
      });
      if (before != taken.end()) {
        sink.warning(
            pragma.key.span,
            fmt::format("`.pragma \"{}\"` is given twice; this one counts", pragma.key.name));
        taken.erase(before);
      }
    } else if (known->meaning != Meaning::kManyValues) {
      sink.warning(pragma.key.span, fmt::format("`.pragma \"{}\"` is ignored", pragma.key.name))
          .hint = why_ignored(*known);
      continue;
    }
    taken.push_back({.name = pragma.key.name, .value = pragma.value});
  }
  return taken;
}

}  // namespace stratalog::datalog::language
