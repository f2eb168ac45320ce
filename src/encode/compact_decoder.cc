// SPDX-License-Identifier: Apache-2.0
// The reading half of the compact encoding. It trusts nothing: every length is checked against the
// payload and against fixed limits before it is used, every element against 32 bits.
#include <fmt/format.h>

#include <bit>
#include <cstring>

#if defined(__BMI2__)
#include <immintrin.h>
#endif

#include "encode/byte_order.h"
#include "encode/compact_codec.h"

namespace stratalog {
namespace {

constexpr std::size_t kBitLimit = kMaxDecodedElements;

// Spreads the first popcount(mask) of the 8 bytes at `from` to the marked places of a word.
std::uint64_t spread_bytes(std::uint64_t packed, std::uint8_t mask) {
#if defined(__BMI2__)
  const std::uint64_t marks = _pdep_u64(mask, 0x0101010101010101ULL) * 0xFF;
  return _pdep_u64(packed, marks);
#else
  std::uint64_t word = 0;
  for (unsigned m = mask; m != 0; m &= m - 1) {
    word |= (packed & 0xFF) << (8 * std::countr_zero(m));
    packed >>= 8;
  }
  return word;
#endif
}

bool read_prefix(ByteReader& in, unsigned mode, std::span<Cell> prefix) {
  if (mode == 0) return true;
  if (prefix.empty()) return false;
  if (mode != 3) {
    const std::uint64_t delta = mode == 1 ? 1 : in.varint(kCellLimit);
    const std::uint64_t value = prefix.back() + delta;
    if (delta == 0 || value > kCellLimit) return false;
    prefix.back() = static_cast<Cell>(value);
    return in.is_ok();
  }
  const std::uint64_t changed = in.varint(prefix.size() - 1);
  const std::int64_t delta = unzigzag(in.varint(kCellLimit * 2));
  if (!in.is_ok()) return false;
  const std::int64_t value = static_cast<std::int64_t>(prefix[changed]) + delta;
  if (value < 0 || value > static_cast<std::int64_t>(kCellLimit)) return false;
  prefix[changed] = static_cast<Cell>(value);
  for (std::size_t i = changed + 1; i < prefix.size(); ++i)
    prefix[i] = static_cast<Cell>(in.varint(kCellLimit));
  return in.is_ok();
}

bool read_base(ByteReader& in, bool same, Cell& base) {
  if (same) return true;
  const std::int64_t value =
      static_cast<std::int64_t>(base) + unzigzag(in.varint((kCellLimit * 2) + 1));
  if (!in.is_ok() || value < 0 || value > static_cast<std::int64_t>(kCellLimit)) return false;
  base = static_cast<Cell>(value);
  return true;
}

bool read_gaps8(ByteReader& in, Cell base, std::size_t count, std::span<Cell> out) {
  const std::byte* gaps = in.take(count - 1);
  if (gaps == nullptr) return false;
  std::uint64_t value = base;
  out[0] = base;
  for (std::size_t i = 1; i < count; ++i) {
    value += static_cast<std::uint64_t>(gaps[i - 1]) + 1;
    out[i] = static_cast<Cell>(value);
  }
  return value <= kCellLimit;
}

bool read_gaps_varint(ByteReader& in, Cell base, std::size_t count, std::span<Cell> out) {
  std::uint64_t value = base;
  out[0] = base;
  for (std::size_t i = 1; i < count; ++i) {
    value += in.varint(kCellLimit) + 1;
    out[i] = static_cast<Cell>(value);
    if (value > kCellLimit) return false;
  }
  return in.is_ok();
}

void set_bits(std::span<std::uint64_t> words, std::size_t start, std::size_t length) {
  const std::size_t end = start + length;
  for (std::size_t at = start; at < end;) {
    const std::size_t take = std::min(64 - (at % 64), end - at);
    const std::uint64_t ones = take == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << take) - 1;
    words[at / 64] |= ones << (at % 64);
    at += take;
  }
}

// Checks `runs` runs from `in` and calls take(first element, length) for each.
template <typename Take>
bool read_runs(ByteReader& in, Cell base, std::size_t runs, Take&& take) {
  std::uint64_t next = base;
  std::uint64_t total = 0;
  for (std::size_t i = 0; i < runs; ++i) {
    if (i != 0) next += in.varint(kCellLimit) + 1;
    const std::uint64_t length = in.varint(kMaxDecodedElements) + 1;
    total += length;
    if (!in.is_ok() || total > kMaxDecodedElements || next + length - 1 > kCellLimit) return false;
    take(next, length);
    next += length;
  }
  return true;
}

// Into a bitmap while the runs lie within its limit; false as soon as they do not (or are bad: the
// caller cannot tell, and tries the array).
bool read_runs_as_bitmap(ByteReader& in, Cell base, std::size_t runs,
                         std::span<std::uint64_t> words, SetView& set) {
  std::size_t cleared = 0;
  bool fits = true;
  std::uint64_t count = 0;
  const bool good = read_runs(in, base, runs, [&](std::uint64_t start, std::uint64_t length) {
    const std::uint64_t end = start - base + length;
    fits = fits && end <= kBitLimit;
    if (!fits) return;
    for (const std::size_t needed = (end + 63) / 64; cleared < needed; ++cleared)
      words[cleared] = 0;
    set_bits(words, start - base, length);
    count += length;
  });
  // Not where the array would be smaller.
  if (!good || !fits || cleared > count * 2) return false;
  set.kind = SetKind::kBitmap;
  set.base = base;
  set.words = words.first(cleared);
  set.count = count;
  return true;
}

bool read_run_set(ByteReader& in, Cell base, std::size_t runs, std::span<std::uint64_t> words,
                  std::span<Cell> elements, SetView& set) {
  const ByteReader again = in;
  if (read_runs_as_bitmap(in, base, runs, words, set)) return true;
  in = again;
  std::size_t at = 0;
  if (!read_runs(in, base, runs, [&](std::uint64_t start, std::uint64_t length) {
        for (std::uint64_t i = 0; i < length; ++i) elements[at++] = static_cast<Cell>(start + i);
      }))
    return false;
  set.kind = SetKind::kArray;
  set.values = elements.first(at);
  set.count = at;
  return true;
}

bool read_words(ByteReader& in, FragmentKind kind, std::size_t count,
                std::span<std::uint64_t> words) {
  if (kind == FragmentKind::kWords) {
    const std::byte* from = in.take(count * 8);
    if (from == nullptr) return false;
    std::memcpy(words.data(), from, count * 8);
    return true;
  }
  const std::byte* masks = in.take(count);
  if (masks == nullptr) return false;
  for (std::size_t i = 0; i < count; ++i) {
    const auto mask = static_cast<std::uint8_t>(masks[i]);
    const auto bytes = static_cast<std::size_t>(std::popcount(mask));
    std::uint64_t packed = 0;
    if (in.remaining() >= 8) {
      packed = load_le<std::uint64_t>(in.take(bytes));  // 8 bytes are readable from here
    } else {
      const std::byte* from = in.take(bytes);
      if (from == nullptr) return false;
      std::memcpy(&packed, from, bytes);
    }
    words[i] = spread_bytes(packed, mask);
  }
  return true;
}

// The last word that is set must not reach beyond 32 bits.
bool bitmap_fits(Cell base, std::span<const std::uint64_t> words) {
  const std::uint64_t end = static_cast<std::uint64_t>(base) + (words.size() * 64);
  if (end <= kCellLimit + 1) return true;
  std::size_t last = words.size();
  while (last > 0 && words[last - 1] == 0) --last;
  if (last == 0) return false;
  const std::uint64_t top =
      base + ((last - 1) * 64) + static_cast<std::uint64_t>(63 - std::countl_zero(words[last - 1]));
  return top <= kCellLimit;
}

}  // namespace

SetReader::SetReader() : scratch_(std::make_unique_for_overwrite<Scratch>()) {}

void SetReader::begin_block() {
  base_ = 0;
  size_ = 0;
}

bool SetReader::read_head(ByteReader& in, unsigned tag, SpelledSet& what) {
  what.kind = static_cast<FragmentKind>(tag & 7);
  if (what.kind >= FragmentKind::kCopy || (tag & 0x80) != 0 ||
      !read_base(in, (tag & 8) != 0, base_))
    return false;
  if (what.kind != FragmentKind::kSingle && (tag & 0x40) == 0)
    size_ = in.varint(kMaxDecodedElements);
  what.base = base_;
  what.size = static_cast<std::uint32_t>(size_);
  what.position = in.position();
  return in.is_ok();
}

bool SetReader::read_data(ByteReader& in, const SpelledSet& what, SetView& set) {
  const std::size_t size = what.size;
  switch (what.kind) {
    case FragmentKind::kSingle:
      scratch_->elements[0] = what.base;
      set.values = std::span(scratch_->elements).first(1);
      set.count = 1;
      return true;
    case FragmentKind::kGaps8:
    case FragmentKind::kGapsVarint: {
      if (size < 1 || size > kCompactLimits.elements) return false;
      const bool good = what.kind == FragmentKind::kGaps8
                            ? read_gaps8(in, what.base, size, scratch_->elements)
                            : read_gaps_varint(in, what.base, size, scratch_->elements);
      set.values = std::span(scratch_->elements).first(size);
      set.count = size;
      return good;
    }
    case FragmentKind::kRuns:
      return size >= 1 &&
             read_run_set(in, what.base, size, scratch_->words, scratch_->elements, set);
    case FragmentKind::kWords:
    case FragmentKind::kSparseBytes:
      if (size < 1 || size > kCompactLimits.words ||
          !read_words(in, what.kind, size, scratch_->words))
        return false;
      set.kind = SetKind::kBitmap;
      set.base = what.base;
      set.words = std::span(scratch_->words).first(size);
      set.count = count_bits(set.words);
      return set.count != 0 && bitmap_fits(what.base, set.words);
    case FragmentKind::kCopy:
      break;
  }
  return false;
}

CompactDecoder::CompactDecoder(std::size_t prefix_cells) : prefix_(prefix_cells, 0) {}

// The set was good when it was read for the first time.
bool CompactDecoder::read_copy(ByteReader& in, std::span<const std::byte> payload, SetView& set) {
  const std::uint64_t back = in.varint(kCopyReach - 1);
  const SpelledSet* what = spelled_.find(back + 1);
  if (!in.is_ok() || what == nullptr) return false;
  ByteReader again(payload.subspan(what->position));
  return reader_.read_data(again, *what, set);
}

Status CompactDecoder::decode(std::span<const std::byte> payload, std::uint64_t groups,
                              std::uint64_t rows, const GroupVisitor& visit) {
  ByteReader in(payload);
  std::fill(prefix_.begin(), prefix_.end(), 0);
  reader_.begin_block();
  std::uint64_t seen_rows = 0;
  spelled_.clear();
  std::size_t start = 0;
  const auto corrupt = [&](const char* what) {
    return Status::corruption(fmt::format("payload offset {}: {}", start, what));
  };
  for (std::uint64_t g = 0; g < groups; ++g) {
    start = in.position();
    const unsigned tag = in.byte();
    const auto kind = static_cast<FragmentKind>(tag & 7);
    if (!in.is_ok() || kind > FragmentKind::kCopy || (tag & 0x80) != 0 ||
        (kind == FragmentKind::kCopy && (tag & 0x48) != 0))
      return corrupt("no such fragment tag, or the payload ends");
    if (!read_prefix(in, (tag >> 4) & 3, prefix_)) return corrupt("bad prefix");
    SetView set;
    bool good = in.is_ok();
    if (kind == FragmentKind::kCopy) {
      good = good && read_copy(in, payload, set);
    } else {
      SpelledSet what;
      good = good && reader_.read_head(in, tag, what) && reader_.read_data(in, what, set);
      if (kind != FragmentKind::kSingle) spelled_.add() = what;
    }
    if (!good) return corrupt("bad set");
    seen_rows += set.count;
    STRATALOG_RETURN_IF_ERROR(visit({.prefix = prefix_, .set = set}));
  }
  start = in.position();
  if (in.remaining() != 0) return corrupt("bytes after the last fragment");
  if (seen_rows != rows)
    return corrupt(fmt::format("{} tuples expected, {} found", rows, seen_rows).c_str());
  return Status::ok();
}

}  // namespace stratalog
