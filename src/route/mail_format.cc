// SPDX-License-Identifier: Apache-2.0
// Writing and reading of records.
#include "route/mail_format.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/integer_division.h"
#include "model/set_walk.h"

namespace stratalog {
namespace {

static_assert(std::endian::native == std::endian::little,
              "cells are packed in pairs, low half first");

enum class RecordKind : std::uint8_t { kRun = 0, kArray = 1, kOffsets = 2, kBitmap = 3 };

constexpr unsigned kKindBits = 2;
constexpr unsigned kStreamBits = 14;
constexpr std::uint64_t kMaxElements = (std::uint64_t{1} << 48U) - 1;

constexpr std::uint64_t header_of(RecordKind kind, int stream, std::uint64_t elements) {
  return static_cast<std::uint64_t>(kind) | (static_cast<std::uint64_t>(stream) << kKindBits) |
         (elements << (kKindBits + kStreamBits));
}

RecordKind kind_of(const SetView& set) {
  switch (set.kind) {
    case SetKind::kArray:
      return RecordKind::kArray;
    case SetKind::kOffsets:
    case SetKind::kRuns:
      return RecordKind::kOffsets;
    case SetKind::kBitmap:
      return RecordKind::kBitmap;
  }
  return RecordKind::kArray;
}

// Copies items into as many words as they need, the last one zero-filled.
template <typename Item>
void append_items(std::span<const Item> items, MailWords& out) {
  if (items.empty()) return;
  const std::uint64_t words = ceil_divide(items.size_bytes(), sizeof(std::uint64_t));
  std::uint64_t* const into = out.extend(words);
  into[words - 1] = 0;
  std::memcpy(into, items.data(), items.size_bytes());
}

// Runs are written out, because the receiver wants elements.
std::vector<std::uint16_t> offsets_of(const SetView& runs) {
  std::vector<std::uint16_t> offsets;
  offsets.reserve(runs.count);
  walk_set(runs,
           [&](Cell cell) { offsets.push_back(static_cast<std::uint16_t>(cell - runs.base)); });
  return offsets;
}

struct RecordShape {
  RecordKind kind = RecordKind::kRun;
  std::uint32_t stream = 0;
  std::uint32_t arity = 0;
  std::uint64_t elements = 0;
  std::uint64_t prefix_words = 0;
  std::uint64_t payload_words = 0;  // after the prefix, the word with the base included

  std::uint64_t words() const { return 1 + prefix_words + payload_words; }
};

// Reads the header, and for bitmaps the length behind the prefix. False where that does not fit in
// `words` or means nothing; elements are bounded first, so that no product overflows.
bool read_shape(std::span<const std::uint64_t> words,
                std::span<const std::uint32_t> arity_of_stream, RecordShape& shape) {
  const std::uint64_t header = words[0];
  shape.kind = static_cast<RecordKind>(header & 3U);
  shape.stream = static_cast<std::uint32_t>((header >> kKindBits) & (kMaxMailStreams - 1));
  shape.elements = header >> (kKindBits + kStreamBits);
  if (shape.stream >= arity_of_stream.size() || shape.elements == 0) return false;
  shape.arity = arity_of_stream[shape.stream];
  if (shape.kind == RecordKind::kRun) {
    if (shape.elements > 2 * words.size()) return false;
    shape.prefix_words = 0;
    shape.payload_words = run_words(shape.elements, shape.arity) - 1;
    return shape.words() <= words.size();
  }
  if (shape.arity == 0) return false;
  shape.prefix_words = ceil_divide(shape.arity - 1, 2);
  if (shape.prefix_words + 1 >= words.size()) return false;
  switch (shape.kind) {
    case RecordKind::kArray:
      shape.payload_words = ceil_divide(shape.elements, 2);
      break;
    case RecordKind::kOffsets:
      shape.payload_words = 1 + ceil_divide(shape.elements, 4);
      break;
    default:
      shape.payload_words = 1 + (words[1 + shape.prefix_words] >> 32U);
      if (shape.elements > 64 * (shape.payload_words - 1)) return false;
      break;
  }
  return shape.words() <= words.size();
}

template <typename Item>
std::span<const Item> items_at(std::span<const std::uint64_t> words, std::uint64_t count) {
  return {reinterpret_cast<const Item*>(words.data()), count};
}

Status hand_over(const RecordShape& shape, std::span<const std::uint64_t> words, int sender,
                 const MailHandler& handler) {
  const int stream = static_cast<int>(shape.stream);
  if (shape.kind == RecordKind::kRun ? !handler.on_run : !handler.on_group)
    return Status::internal(fmt::format("stream {} got {} that nobody handles", stream,
                                        shape.kind == RecordKind::kRun ? "tuples" : "a group"));
  if (shape.kind == RecordKind::kRun)
    return handler.on_run(
        {.stream = stream,
         .sender = sender,
         .arity = shape.arity,
         .count = shape.elements,
         .cells = items_at<Cell>(words.subspan(1), shape.elements * shape.arity)});
  const auto payload = words.subspan(1 + shape.prefix_words);
  TupleGroup group{.prefix = items_at<Cell>(words.subspan(1), shape.arity - 1), .set = {}};
  group.set.count = shape.elements;
  switch (shape.kind) {
    case RecordKind::kArray:
      group.set.kind = SetKind::kArray;
      group.set.values = items_at<Cell>(payload, shape.elements);
      break;
    case RecordKind::kOffsets:
      group.set.kind = SetKind::kOffsets;
      group.set.base = static_cast<Cell>(payload[0]);
      group.set.offsets = items_at<std::uint16_t>(payload.subspan(1), shape.elements);
      break;
    default:
      group.set.kind = SetKind::kBitmap;
      group.set.base = static_cast<Cell>(payload[0]);
      group.set.words = payload.subspan(1, shape.payload_words - 1);
      break;
  }
  return handler.on_group({.stream = stream, .sender = sender, .group = group});
}

}  // namespace

std::uint64_t run_words(std::uint64_t count, std::uint32_t arity) {
  return 1 + ceil_divide(count * std::max(1U, arity), 2);
}

void encode_run(int stream, std::uint64_t count, std::span<const Cell> cells, MailWords& out) {
  out.append(header_of(RecordKind::kRun, stream, std::min(count, kMaxElements)));
  append_items(cells, out);
}

std::uint64_t group_words(const TupleGroup& group) {
  const std::uint64_t head = 1 + ceil_divide(group.prefix.size(), 2);
  switch (group.set.kind) {
    case SetKind::kArray:
      return head + ceil_divide(group.set.count, 2);
    case SetKind::kOffsets:
    case SetKind::kRuns:
      return head + 1 + ceil_divide(group.set.count, 4);
    case SetKind::kBitmap:
      return head + 1 + group.set.words.size();
  }
  return head;
}

void encode_group(int stream, const TupleGroup& group, MailWords& out) {
  const SetView& set = group.set;
  out.append(header_of(kind_of(set), stream, set.count));
  append_items(group.prefix, out);
  switch (set.kind) {
    case SetKind::kArray:
      append_items(set.values, out);
      break;
    case SetKind::kOffsets:
      out.append(std::uint64_t{set.base});
      append_items(set.offsets, out);
      break;
    case SetKind::kRuns:
      out.append(std::uint64_t{set.base});
      append_items(std::span<const std::uint16_t>(offsets_of(set)), out);
      break;
    case SetKind::kBitmap:
      out.append(std::uint64_t{set.base} | (std::uint64_t{set.words.size()} << 32U));
      append_items(set.words, out);
      break;
  }
}

std::uint64_t record_words(std::span<const std::uint64_t> words,
                           std::span<const std::uint32_t> arity_of_stream) {
  RecordShape shape;
  return read_shape(words, arity_of_stream, shape) ? shape.words() : words.size();
}

Status decode_records(std::span<const std::uint64_t> words, int sender,
                      std::span<const std::uint32_t> arity_of_stream, const MailHandler& handler) {
  for (std::uint64_t at = 0; at < words.size();) {
    RecordShape shape;
    if (!read_shape(words.subspan(at), arity_of_stream, shape))
      return Status::corruption(fmt::format(
          "mail from rank {}: word {} of {} ({:#x}) begins no record; the ranks do not run the "
          "same program or the network is broken",
          sender, at, words.size(), words[at]));
    STRATALOG_RETURN_IF_ERROR(hand_over(shape, words.subspan(at, shape.words()), sender, handler));
    at += shape.words();
  }
  return Status::ok();
}

}  // namespace stratalog
