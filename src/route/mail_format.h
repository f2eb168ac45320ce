// SPDX-License-Identifier: Apache-2.0
// The bytes between two TupleMails: what one rank sends another in one exchange, a sequence of
// 64-bit words. Lives in memory and on the wire between ranks of one job only, never in files.
// Encoding appends to a buffer; decoding checks every length, because a wrong one must be an error
// and not a wild read. Pure; local.
//
//   part   = [ flags ] record*              flags: bit 0 = "I have more for somebody; there is
//   another round" record = [ kind 2 | stream 14 | elements 48 ] then
//     kRun:     ceil(elements * max(1, arity) / 2) words of cells (a tuple of arity 0 is one unused
//     cell) kArray:   prefix; ceil(elements / 2) words of cells kOffsets: prefix; [ base ];
//     ceil(elements / 4) words of 16-bit offsets kBitmap:  prefix; [ base 32 | words 32 ]; words
//   prefix = ceil((arity - 1) / 2) words of cells
// The first named field is in the lowest bits.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "base/status.h"
#include "model/tuple_group.h"
#include "model/word_buffer.h"

namespace stratalog {

inline constexpr std::uint32_t kMaxMailStreams = 1U << 14U;

// Tuples of one stream that came in one piece: `count` tuples of `arity` cells, back to back.
struct MailRun {
  int stream = 0;
  int sender = 0;
  std::uint32_t arity = 0;
  std::uint64_t count = 0;
  std::span<const Cell> cells;  // count * arity
};

// A whole set of last columns under one prefix of arity - 1 cells.
struct MailGroup {
  int stream = 0;
  int sender = 0;
  TupleGroup group;
};

// What to do with arriving mail; views are valid during the call only. A small group may arrive as
// a run, and a large one as several groups of the same prefix. May be empty functions for streams
// that never use them.
struct MailHandler {
  std::function<Status(const MailRun&)> on_run;
  std::function<Status(const MailGroup&)> on_group;
};

using MailWords = WordBuffer<std::uint64_t>;
inline constexpr std::uint64_t kMailWordBytes = sizeof(std::uint64_t);

// Words of a record of `count` tuples, its header included.
std::uint64_t run_words(std::uint64_t count, std::uint32_t arity);

// Appends a record of the tuples in `cells` (count * max(1, arity) cells).
void encode_run(int stream, std::uint64_t count, std::span<const Cell> cells, MailWords& out);

// Words of a group's record as encode_group writes it, header included.
std::uint64_t group_words(const TupleGroup& group);

// Appends a group in the representation that it has.
void encode_group(int stream, const TupleGroup& group, MailWords& out);

// The number of words of the record at the front of `words`, which must be one that encode_* wrote.
std::uint64_t record_words(std::span<const std::uint64_t> words,
                           std::span<const std::uint32_t> arity_of_stream);

// Calls the handler for each record. Corruption where the words are no sequence of records of these
// streams; else the handler's first error.
Status decode_records(std::span<const std::uint64_t> words, int sender,
                      std::span<const std::uint32_t> arity_of_stream, const MailHandler& handler);

}  // namespace stratalog
