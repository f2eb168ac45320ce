// SPDX-License-Identifier: Apache-2.0
// __FILE__, __LINE__ and __INCL__ as Soufflé's scanner has them: the constants that they stand for
// take their place in the text, so that ranks and checkpoints that get the text need not know where
// it came from. Pure but for PathForm::kCanonical. Local.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace stratalog::datalog::language {

enum class PathForm : std::uint8_t {
  kAsNamed,
  kCanonical,  // absolute and without symbolic links, where the file system knows the file
};

bool has_place_words(std::string_view text);

// `name` names the text up to the first line marker. What markers say beside line and file (which
// __INCL__ needs) is taken out of them: the text is the same as without these words.
std::string with_place_words(const std::string& text, const std::string& name, PathForm form);

}  // namespace stratalog::datalog::language
