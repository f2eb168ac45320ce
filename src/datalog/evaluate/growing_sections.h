// SPDX-License-Identifier: Apache-2.0
// GrowingSections: the values of the dictionary, the records and the counts of rounds only grow, so
// a checkpoint that builds on another one holds what came since then as one more piece of their
// sections. Many small pieces at the end are written anew as one, together with what is new (the
// logarithmic method of J. L. Bentley and J. B. Saxe, "Decomposable searching problems I", 1980, to
// the base of eight): there are few pieces of each size, and a run writes each value about twice.
// Rank 0; local.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "model/record_image.h"
#include "model/value_dictionary.h"

namespace stratalog::datalog {

// How many of the pieces that end at `ends` (ascending, none empty) stay as they are where there
// are `now` entries: all but the last ones, if these are eight or more, the new one included, that
// are not larger, to a power of eight, than what they and what is new make together.
std::size_t pieces_to_keep(std::span<const std::uint64_t> ends, std::uint64_t now);

class GrowingSections {
 public:
  // Where the pieces of a checkpoint end.
  struct Ends {
    std::vector<DictionarySize> dictionary;
    std::vector<RecordCounts> records;
    std::vector<std::uint64_t> rounds;
    std::uint64_t rounds_hash = 0;  // of the counts in all pieces: pivot blocks change old ones
  };

  // Adds the sections for a checkpoint that builds on `base`, or on none where that is empty.
  // Returns what accept() is told once it has been committed. Records only `with_records`.
  Ends add(const std::string& base, const ValueDictionary& dictionary, bool with_records,
           std::span<const std::uint64_t> rounds, std::vector<NamedSection>& sections) const;
  void accept(const std::string& generation, Ends ends);

 private:
  std::string generation_;
  Ends ends_;  // of the generation
};

}  // namespace stratalog::datalog
