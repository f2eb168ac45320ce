// SPDX-License-Identifier: Apache-2.0
// The choice of representation and the conversion.
#include "route/set_encoding.h"

#include <algorithm>
#include <array>

namespace stratalog {
namespace {

constexpr std::size_t kChunkCells = std::size_t{1} << 16U;
constexpr std::size_t kChunkWords = kChunkCells / 64;
// Smaller sets are not worth a second look.
constexpr std::size_t kSmallSet = 16;

// The elements of the front of `set` that lie in its first chunk of 2^16 values.
std::span<const Cell> first_chunk(std::span<const Cell> set) {
  const Cell last = set.front() | (kChunkCells - 1);
  if (set.back() <= last) return set;
  const auto near = set.first(std::min(set.size(), kChunkCells));
  return set.first(static_cast<std::size_t>(std::ranges::upper_bound(near, last) - near.begin()));
}

std::size_t bitmap_words(std::span<const Cell> chunk) {
  return (chunk.back() / 64) - (chunk.front() / 64) + 1;
}

std::size_t offset_words(std::span<const Cell> chunk) { return (chunk.size() + 3) / 4; }

std::uint64_t chunk_words(std::size_t prefix_cells, std::span<const Cell> chunk) {
  return 2 + ((prefix_cells + 1) / 2) + std::min(bitmap_words(chunk), offset_words(chunk));
}

// Whether chunks cost less than `limit` words; gives up as soon as they do not.
bool chunks_cost_less(std::size_t prefix_cells, std::span<const Cell> set, std::uint64_t limit) {
  std::uint64_t words = 0;
  for (auto rest = set; !rest.empty();) {
    const auto chunk = first_chunk(rest);
    words += chunk_words(prefix_cells, chunk);
    if (words >= limit) return false;
    rest = rest.subspan(chunk.size());
  }
  return true;
}

void encode_chunk(int stream, std::span<const Cell> prefix, std::span<const Cell> chunk,
                  MailWords& out) {
  TupleGroup group{.prefix = prefix, .set = {}};
  group.set.count = chunk.size();
  const Cell base = chunk.front() & ~Cell{63};
  if (bitmap_words(chunk) <= offset_words(chunk)) {
    std::array<std::uint64_t, kChunkWords> words;  // NOLINT: filled below as far as it is used
    const std::span<std::uint64_t> used = std::span(words).first(bitmap_words(chunk));
    std::ranges::fill(used, 0);
    // One word is gathered in a register: neighbouring elements would wait for each other's stores.
    std::size_t at = 0;
    std::uint64_t word = 0;
    for (const Cell cell : chunk) {
      const std::size_t next = (cell - base) / 64;
      if (next != at) {
        used[at] = word;
        at = next;
        word = 0;
      }
      word |= std::uint64_t{1} << (cell % 64);
    }
    used[at] = word;
    group.set.kind = SetKind::kBitmap;
    group.set.base = base;
    group.set.words = used;
    encode_group(stream, group, out);
    return;
  }
  std::array<std::uint16_t, kChunkCells / 4> offsets;  // NOLINT: filled below as far as it is used
  for (std::size_t i = 0; i < chunk.size(); ++i)
    offsets[i] = static_cast<std::uint16_t>(chunk[i] - base);
  group.set.kind = SetKind::kOffsets;
  group.set.base = base;
  group.set.offsets = std::span(offsets).first(chunk.size());
  encode_group(stream, group, out);
}

}  // namespace

std::uint64_t array_words(std::size_t prefix_cells, std::size_t elements) {
  return 1 + ((prefix_cells + 1) / 2) + ((elements + 1) / 2);
}

void encode_set(int stream, std::span<const Cell> prefix, std::span<const Cell> set,
                MailWords& out) {
  const std::uint64_t as_array = array_words(prefix.size(), set.size());
  if (set.size() < kSmallSet || !chunks_cost_less(prefix.size(), set, as_array)) {
    TupleGroup group{.prefix = prefix, .set = {}};
    group.set.values = set;
    group.set.count = set.size();
    encode_group(stream, group, out);
    return;
  }
  for (auto rest = set; !rest.empty();) {
    const auto chunk = first_chunk(rest);
    encode_chunk(stream, prefix, chunk, out);
    rest = rest.subspan(chunk.size());
  }
}

}  // namespace stratalog
