// SPDX-License-Identifier: Apache-2.0
#include "cli/souffle_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "cli/souffle_options.h"

namespace stratalog::cli {
namespace {

const SouffleOption* option_of_letter(std::string_view brief) {
  for (const SouffleOption& option : souffle_options())
    if (option.brief == brief) return &option;
  return nullptr;
}

// Also by the beginning of its name, where no other begins so (getopt_long). `--library` would be
// --library-dir for Soufflé; here it is an option of `run`.
const SouffleOption* option_of_name(std::string_view name) {
  const SouffleOption* found = nullptr;
  for (const SouffleOption& option : souffle_options()) {
    if (option.name == name) return &option;
    if (!option.name.starts_with(name)) continue;
    if (found != nullptr) return nullptr;
    found = &option;
  }
  return name == "--library" ? nullptr : found;
}

class SouffleWords {
 public:
  explicit SouffleWords(const std::vector<std::string>& words) : words_(words) {}

  std::vector<std::string> translate() {
    for (; next_ < words_.size(); ++next_) {
      const std::string& word = words_[next_];
      if (word == "--") break;
      if (word.starts_with("--"))
        take_long(word);
      else if (word.size() > 1 && word.front() == '-')
        take_letters(word);
      else
        result_.push_back(word);
    }
    if (asks_version_) return {"--version"};
    result_.insert(result_.end(), words_.begin() + static_cast<std::ptrdiff_t>(next_),
                   words_.end());
    std::vector<std::string> all{"run"};
    // Soufflé says nothing of its own.
    if (!is_verbose_) all.emplace_back("--quiet");
    all.push_back(fmt::format("{}={}", kSouffleFacts, no_warnings_ ? "optional" : "needed"));
    std::ranges::move(result_, std::back_inserter(all));
    return all;
  }

 private:
  void take_long(const std::string& word) {
    const std::size_t equals = word.find('=');
    const SouffleOption* option = option_of_name(std::string_view(word).substr(0, equals));
    if (option == nullptr || (!option->has_value && equals != std::string::npos)) {
      result_.push_back(word);
      return;
    }
    if (!option->has_value)
      take(*option, option->name);
    else if (equals != std::string::npos)
      take(*option, option->name, word.substr(equals + 1));
    else
      take_with_next(*option, option->name);
  }

  // `-wj2`: flags, and at the end one with a value. With a letter that is not Soufflé's, the word
  // is left to `run`.
  void take_letters(const std::string& word) {
    for (std::size_t i = 1; i < word.size(); ++i) {
      const SouffleOption* option = option_of_letter("-" + word.substr(i, 1));
      if (option == nullptr) {
        result_.push_back(word);
        return;
      }
      if (option->has_value) break;
    }
    for (std::size_t i = 1; i < word.size(); ++i) {
      const SouffleOption& option = *option_of_letter("-" + word.substr(i, 1));
      if (!option.has_value) {
        take(option, option.brief);
        continue;
      }
      if (i + 1 < word.size())
        take(option, option.brief, word.substr(i + 1));
      else
        take_with_next(option, option.brief);
      return;
    }
  }

  // Without a next word it is for `run` to say that a value is missing.
  void take_with_next(const SouffleOption& option, std::string_view written) {
    if (next_ + 1 < words_.size()) {
      take(option, written, words_[++next_]);
      return;
    }
    result_.emplace_back(option.use == SouffleUse::kOurs ? option.ours : written);
  }

  void take(const SouffleOption& option, std::string_view written) {
    is_verbose_ |= option.name == "--verbose";
    asks_version_ |= option.name == "--version";
    no_warnings_ |= option.name == "--no-warn";
    if (option.use == SouffleUse::kOurs) result_.emplace_back(option.ours);
    if (option.use == SouffleUse::kRefused) result_.emplace_back(written);
  }

  void take(const SouffleOption& option, std::string_view written, std::string value) {
    // Nothing is asked for.
    if (option.name == "--provenance" && value == "none") return;
    if (option.use == SouffleUse::kIdle) return;
    const bool is_refused = option.use == SouffleUse::kRefused;
    const std::string_view name = is_refused ? written : option.ours;
    if (!is_refused && !value.empty()) {
      // A value that begins with a dash is one, too.
      result_.push_back(fmt::format("{}={}", name, value));
      return;
    }
    result_.emplace_back(name);
    result_.push_back(std::move(value));
  }

  const std::vector<std::string>& words_;
  std::size_t next_ = 0;
  std::vector<std::string> result_;
  bool is_verbose_ = false;
  bool asks_version_ = false;
  bool no_warnings_ = false;
};

}  // namespace

bool is_named_souffle(std::string_view program) {
  return program.substr(program.rfind('/') + 1) == "souffle";
}

std::vector<std::string> arguments_from_souffle(const std::vector<std::string>& arguments) {
  return SouffleWords(arguments).translate();
}

std::string version_like_souffle(const std::string& version) {
  return version + "Word size: 64 bits\n";
}

}  // namespace stratalog::cli
