// SPDX-License-Identifier: Apache-2.0
#include "place/read_ranges.h"

#include <algorithm>
#include <map>

namespace stratalog {
namespace {

// The part [low, high) of all bytes that `reader` gets.
struct ByteShare {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
};

ByteShare share_of(std::uint64_t total, int readers, int reader) {
  const auto cut = [&](int at) {
    __extension__ using Wide = unsigned __int128;
    return static_cast<std::uint64_t>(static_cast<Wide>(total) * static_cast<unsigned>(at) /
                                      static_cast<unsigned>(readers));
  };
  return {.low = cut(reader), .high = cut(reader + 1)};
}

// A piece of a shard, in the order in which all are read.
struct Stretch {
  std::size_t shard = 0;
  std::uint64_t begin = 0;  // in the shard
  std::uint64_t bytes = 0;
  std::uint64_t offset = 0;  // in the file
};

// The shards of one file, one after the other or, where they take turns, piece by piece.
std::vector<Stretch> stretches_of(std::span<const ShardPlace> shards,
                                  std::span<const std::size_t> in_file, int readers) {
  std::uint64_t bytes = 0;
  std::uint64_t count = 0;
  for (const std::size_t shard : in_file)
    for (const ShardPlace::Piece& piece : shards[shard].pieces) {
      bytes += piece.bytes;
      ++count;
    }
  const bool take_turns = count > in_file.size() && in_file.size() > 1;
  const std::uint64_t mean = count == 0 ? 0 : bytes / count;
  const bool in_pieces = take_turns && mean >= kTurnBytes && (readers > 1 || mean < kLongTurnBytes);
  std::vector<Stretch> stretches;
  for (const std::size_t shard : in_file) {
    if (!in_pieces) {
      stretches.push_back({.shard = shard, .bytes = shards[shard].bytes()});
      continue;
    }
    std::uint64_t begin = 0;
    for (const ShardPlace::Piece& piece : shards[shard].pieces) {
      stretches.push_back(
          {.shard = shard, .begin = begin, .bytes = piece.bytes, .offset = piece.offset});
      begin += piece.bytes;
    }
  }
  std::stable_sort(stretches.begin(), stretches.end(),
                   [](const Stretch& a, const Stretch& b) { return a.offset < b.offset; });
  return stretches;
}

}  // namespace

std::vector<ShardRange> plan_read_ranges(std::span<const std::uint64_t> shard_bytes, int readers,
                                         int reader) {
  std::uint64_t total = 0;
  for (const std::uint64_t bytes : shard_bytes) total += bytes;
  const auto [low, high] = share_of(total, readers, reader);
  std::vector<ShardRange> ranges;
  std::uint64_t start = 0;
  for (std::size_t i = 0; i < shard_bytes.size() && start < high; ++i) {
    const std::uint64_t end = start + shard_bytes[i];
    const std::uint64_t from = std::max(start, low);
    const std::uint64_t to = std::min(end, high);
    if (from < to) ranges.push_back({.shard = i, .begin = from - start, .end = to - start});
    start = end;
  }
  return ranges;
}

std::uint64_t ShardPlace::bytes() const {
  std::uint64_t sum = 0;
  for (const Piece& piece : pieces) sum += piece.bytes;
  return sum;
}

std::vector<ShardRange> plan_reads_in_place(std::span<const ShardPlace> shards, int readers,
                                            int reader) {
  std::uint64_t total = 0;
  std::map<std::size_t, std::size_t> number_of_file;  // in the order of their first shards
  std::vector<std::vector<std::size_t>> files;
  for (std::size_t i = 0; i < shards.size(); ++i) {
    total += shards[i].bytes();
    const std::size_t number =
        number_of_file.try_emplace(shards[i].file, files.size()).first->second;
    if (number == files.size()) files.emplace_back();
    files[number].push_back(i);
  }
  const auto [low, high] = share_of(total, readers, reader);
  std::vector<ShardRange> ranges;
  std::uint64_t start = 0;
  for (const std::vector<std::size_t>& in_file : files) {
    if (start >= high) break;
    std::uint64_t bytes = 0;
    for (const std::size_t shard : in_file) bytes += shards[shard].bytes();
    if (start + bytes <= low) {
      start += bytes;
      continue;
    }
    for (const Stretch& stretch : stretches_of(shards, in_file, readers)) {
      const std::uint64_t end = start + stretch.bytes;
      const std::uint64_t from = std::max(start, low);
      const std::uint64_t to = std::min(end, high);
      const std::uint64_t begin = stretch.begin + from - start;
      start = end;
      if (from >= to) continue;
      if (!ranges.empty() && ranges.back().shard == stretch.shard && ranges.back().end == begin)
        ranges.back().end += to - from;  // neighbours, too, in the file
      else
        ranges.push_back({.shard = stretch.shard, .begin = begin, .end = begin + (to - from)});
    }
  }
  return ranges;
}

}  // namespace stratalog
