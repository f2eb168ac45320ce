// SPDX-License-Identifier: Apache-2.0
// Byte images of a dictionary's records, for checkpoints (docs/formats/facts.md). They stand beside
// the image of symbols and numbers (value_dictionary.h), which must be read first. Pure; local.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/status.h"
#include "model/value_dictionary.h"

namespace stratalog {

// How many of them an image begins behind.
struct RecordCounts {
  std::uint64_t shapes = 0;
  std::uint64_t records = 0;
};

// The shapes and records from `from` on, so that later checkpoints can hold only what was added.
// Requires that there are so many.
std::vector<std::byte> encode_records(const ValueDictionary& dictionary, RecordCounts from = {});

// Puts the records of an image, or of several that follow each other, into a dictionary that holds
// no records yet, but all symbols and wide numbers. Corruption, with the byte offset, if the image
// is damaged, repeats a record, or a record holds what comes after it or is not in the dictionary;
// `dictionary` may then have grown by a part.
Status decode_records(std::span<const std::byte> images, ValueDictionary& dictionary);

}  // namespace stratalog
