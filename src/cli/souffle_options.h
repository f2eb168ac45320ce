// SPDX-License-Identifier: Apache-2.0
// The options of Soufflé's command (2.5): what each becomes for a link named `souffle`, and what to
// do instead of those that ours does not have. Pure. Local.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace stratalog::cli {

enum class SouffleUse : std::uint8_t {
  kOurs,  // `run` has it
  kIdle,  // the answer is the same without it
  kRefused,
};

struct SouffleOption {
  std::string_view brief;  // "-F"; empty: it has a long name only
  std::string_view name;  // "--fact-dir"
  bool has_value = false;
  SouffleUse use = SouffleUse::kRefused;
  std::string_view ours;  // of kOurs: what `run` calls it
  std::string_view advice;  // for whoever gives it to `run`; empty: `run` has it by both names
};

// All of them.
std::span<const SouffleOption> souffle_options();

// One line for each such option among the arguments of a command line that was refused; empty if
// there is none. Each line ends with a line break.
std::string advice_on_souffle_options(const std::vector<std::string>& arguments);

}  // namespace stratalog::cli
