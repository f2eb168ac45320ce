// SPDX-License-Identifier: Apache-2.0
// "Did you mean": the nearest known name to a misspelt one, by edit distance with transpositions.
// Pure. Local.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace stratalog::datalog::language {

// Insertions, deletions, substitutions and swaps of neighbours, each costing 1 (optimal string
// alignment). Time and memory are bounded: names longer than 64 bytes are compared by equality
// only.
unsigned edit_distance(std::string_view a, std::string_view b);

// "did you mean `edge`?" for the nearest candidate within a third of the word's length (at least
// 1), the first in order among equals; empty when none is near.
std::string suggest(std::string_view word, std::span<const std::string> candidates);

}  // namespace stratalog::datalog::language
