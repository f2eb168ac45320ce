// SPDX-License-Identifier: Apache-2.0
// The writing half of the pool encoding. Most groups of large closures have a set that came before,
// and pass here without being looked at: a look-up of the content and two numbers each.
#include <algorithm>
#include <cstring>

#include "encode/byte_order.h"
#include "encode/pool_codec.h"

namespace stratalog {
namespace {

constexpr unsigned kPooledBits = 12;
static_assert(kPoolReach >= 1U << kPooledBits);  // whatever the table knows may be named

bool fits_one_fragment(const SetView& set) {
  if (set.kind == SetKind::kBitmap) return set.words.size() <= kCompactLimits.words;
  return set.count <= kCompactLimits.elements;
}

}  // namespace

PoolEncoder::PoolEncoder(std::size_t prefix_cells)
    : columns_(prefix_cells, StreamPacker(UnitForm::kDifferences)),
      known_(std::size_t{1} << kPooledBits) {}

void PoolEncoder::begin_block() {
  sets_.begin_block();
  pooled_ = 0;
  std::fill(known_.begin(), known_.end(), Known());
}

PoolEncoder::Known& PoolEncoder::place_of(std::uint64_t content) {
  return known_[place_of_content(content, kPooledBits)];
}

std::byte* PoolEncoder::add(std::span<const Cell> prefix, const SetView& set, std::uint64_t content,
                            std::byte* sets) {
  for (std::size_t c = 0; c < columns_.size(); ++c) columns_[c].put(prefix[c]);
  const Known& known = place_of(content);
  if (content != 0 && known.content == content && pooled_ - known.number <= kPoolReach) {
    refs_.put(pooled_ - known.number);
    return sets;
  }
  refs_.put(0);
  return add_set(set, content, sets);
}

std::byte* PoolEncoder::add_set(const SetView& set, std::uint64_t content, std::byte* sets) {
  if (content != 0)
    place_of(content) = {
        .content = content, .number = pooled_, .count = static_cast<std::uint32_t>(set.count)};
  ++pooled_;
  return sets_.encode({}, set, sets);
}

// Writes what the groups say as long as the pool has their sets. By itself, so that all that the
// loop needs is in registers.
PoolEncoder::KnownRun PoolEncoder::take_known(std::span<const std::uint64_t> contents,
                                              std::uint64_t rows, std::uint32_t* refs) const {
  const Known* const table = known_.data();
  const std::uint32_t pooled = pooled_;
  const std::uint32_t oldest = pooled > kPoolReach ? pooled - kPoolReach : 0;
  KnownRun run;
  for (; run.groups < contents.size() && run.rows < rows; ++run.groups) {
    const std::uint64_t content = contents[run.groups];
    const Known& known = table[place_of_content(content, kPooledBits)];
    if (known.content != content || known.number < oldest) break;
    refs[run.groups] = pooled - known.number;
    run.rows += known.count;
  }
  return run;
}

PoolEncoder::Added PoolEncoder::add(const GroupBatch& batch, std::size_t first, std::uint64_t rows,
                                    std::uint64_t bytes, ZoneBuilder& zones, std::byte* sets) {
  std::array<std::uint32_t, kPackedValues> refs;  // NOLINT: filled as far as it is read
  const std::span contents =
      batch.contents.subspan(first, std::min(batch.size() - first, kPackedValues));
  const std::byte* const full = sets + bytes;
  Added added{.end = sets};
  std::size_t i = 0;
  while (i < contents.size() && added.rows < rows) {
    const KnownRun run = take_known(contents.subspan(i), rows - added.rows, refs.data() + i);
    i += run.groups;
    added.rows += run.rows;
    if (i == contents.size() || added.rows >= rows || added.end >= full) break;
    const SetView set = batch.sets.set(first + i);
    if (!fits_one_fragment(set)) break;
    zones.add_set(set);
    added.end = add_set(set, contents[i], added.end);
    added.rows += set.count;
    refs[i++] = 0;
  }
  added.groups = i;
  refs_.put_all(std::span(refs).first(i));
  const std::size_t cells = columns_.size();
  const std::span prefixes = batch.prefixes.subspan(first * cells, i * cells);
  if (cells == 1) {
    columns_[0].put_all(prefixes);
    return added;
  }
  for (std::size_t c = 0; c < cells; ++c)
    for (std::size_t at = c; at < prefixes.size(); at += cells) columns_[c].put(prefixes[at]);
  return added;
}

std::size_t PoolEncoder::stream_bytes() const {
  std::size_t bytes = refs_.packed_bytes();
  for (const StreamPacker& column : columns_) bytes += column.packed_bytes();
  return bytes;
}

std::byte* PoolEncoder::finish(std::byte* payload, std::byte* end) {
  std::byte* head = payload;
  const std::size_t set_bytes =
      static_cast<std::size_t>(end - payload) - pool_head_bytes(columns_.size());
  store_le(head, pooled_);
  store_le(head + 4, static_cast<std::uint32_t>(set_bytes));
  head += 8;
  const auto put = [&](StreamPacker& stream) {
    stream.finish();
    store_le(head, static_cast<std::uint32_t>(stream.finished_bytes()));
    head += 4;
    end = stream.copy_to(end);
    stream.clear();
  };
  for (StreamPacker& column : columns_) put(column);
  put(refs_);
  return end;
}

}  // namespace stratalog
