// SPDX-License-Identifier: Apache-2.0
// Where a parser's text comes from: a byte range of a plain file, or a gzip file inflated on the
// fly. Both hand out the next piece on demand, so memory does not grow with the file. Local;
// thread-compatible.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "base/result.h"
#include "write/store.h"

namespace stratalog::datalog {

// The part of a file [from, to).
struct FileRange {
  std::uint64_t from = 0;
  std::uint64_t to = 0;
};

// The lines of `file` that begin in bytes [size*rank/ranks, size*(rank+1)/ranks): every line
// belongs to exactly one rank. Reads a little around the two ends.
Result<FileRange> lines_of_rank(File& file, std::uint64_t size_bytes, int rank, int ranks);

// How many line breaks lie in [0, end): what makes line numbers exact, asked for only when
// something is wrong.
Result<std::uint64_t> count_lines_before(File& file, std::uint64_t end);

// Fills the start of a buffer, which must not be empty, and returns how many bytes there are; 0
// only at the end.
using FactTextSource = std::function<Result<std::size_t>(std::span<char> buffer)>;

// Requires a range inside `file`, which must outlive the source.
FactTextSource make_range_source(File& file, FileRange range);
// All members of a gzip file. Corruption, with the offset in the compressed file, if it is damaged
// or ends early. `name` is for messages.
Result<FactTextSource> make_gzip_source(File& file, std::uint64_t size_bytes, std::string name);

}  // namespace stratalog::datalog
