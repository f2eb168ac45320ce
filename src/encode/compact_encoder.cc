// SPDX-License-Identifier: Apache-2.0
// The writing half of the compact encoding. Choosing the form costs a few operations per bitmap
// word or element; it decides size only, never correctness, so estimates are good enough.
#include <algorithm>
#include <bit>
#include <cstring>

#if defined(__BMI2__)
#include <immintrin.h>
#endif

#include "encode/byte_order.h"
#include "encode/compact_codec.h"

namespace stratalog {
namespace {

constexpr std::uint64_t kLowBits7 = 0x7F7F7F7F7F7F7F7FULL;
constexpr std::uint64_t kHighBits = 0x8080808080808080ULL;
// Bitmaps longer than this lose their zero words at both ends; shorter ones keep their base, which
// is then usually that of their neighbours and costs nothing.
constexpr std::size_t kTrimWords = 16;

// 0x80 in every byte of `word` that is not zero.
std::uint64_t nonzero_bytes(std::uint64_t word) {
  return (((word & kLowBits7) + kLowBits7) | word) & kHighBits;
}

struct BitmapStatistics {
  std::uint64_t runs = 0;
  std::uint64_t bytes = 0;  // nonzero ones
};

BitmapStatistics examine(std::span<const std::uint64_t> words) {
  BitmapStatistics s;
  std::uint64_t carry = 0;
  for (const std::uint64_t word : words) {
    s.runs += static_cast<std::uint64_t>(std::popcount(word & ~((word << 1) | carry)));
    carry = word >> 63;
    s.bytes += static_cast<std::uint64_t>(std::popcount(nonzero_bytes(word)));
  }
  return s;
}

// Writes 8 bytes, of which the first popcount(marks) count.
void put_marked_bytes(std::uint64_t word, std::uint64_t marks, std::byte* to) {
#if defined(__BMI2__)
  store_le(to, _pext_u64(word, (marks >> 7) * 0xFF));
#else
  for (; marks != 0; marks &= marks - 1)
    *to++ = static_cast<std::byte>(word >> (std::countr_zero(marks) - 7));
#endif
}

std::byte mask_byte(std::uint64_t marks) {
  // The multiplication gathers the eight mark bits into the top byte.
  return static_cast<std::byte>(((marks >> 7) * 0x0102040810204080ULL) >> 56);
}

std::byte* put_sparse_bytes(std::span<const std::uint64_t> words, std::byte* to) {
  std::byte* bytes = to + words.size();
  for (const std::uint64_t word : words) {
    const std::uint64_t marks = nonzero_bytes(word);
    *to++ = mask_byte(marks);
    put_marked_bytes(word, marks, bytes);
    bytes += std::popcount(marks);
  }
  return bytes;
}

// Every change between zeros and ones, in ascending order, is an end of a run or of a gap: the
// differences between changes, less one, are what is stored.
std::byte* put_runs(std::span<const std::uint64_t> words, std::byte* to) {
  std::uint64_t carry = 0;
  std::uint64_t last = 0;
  bool first = true;
  const auto put = [&](std::uint64_t change) {
    if (!first) to = put_varint(to, change - last - 1);
    first = false;
    last = change;
  };
  for (std::size_t w = 0; w < words.size(); ++w) {
    const std::uint64_t word = words[w];
    for (std::uint64_t changes = word ^ ((word << 1) | carry); changes != 0; changes &= changes - 1)
      put((w * 64) + static_cast<std::uint64_t>(std::countr_zero(changes)));
    carry = word >> 63;
  }
  if (carry != 0) put(words.size() * 64);
  return to;
}

std::size_t first_bit(std::span<const std::uint64_t> words) {
  std::size_t at = 0;
  while (words[at] == 0) ++at;
  return (at * 64) + static_cast<std::size_t>(std::countr_zero(words[at]));
}

// Lower bounds first, because these loops run for every element: `any` and `runs` are all that
// small gaps need.
struct GapStatistics {
  std::uint32_t any = 0;  // or of all gaps
  std::uint32_t runs = 1;  // of consecutive elements
};

template <typename T>
GapStatistics examine_gaps(std::span<const T> elements) {
  GapStatistics s;
  const T* const at = elements.data();
  const std::size_t count = elements.size();
  for (std::size_t i = 1; i < count; ++i) {
    const auto gap = static_cast<T>(at[i] - at[i - 1] - 1);
    s.any |= gap;
    s.runs += gap != 0 ? 1U : 0U;
  }
  return s;
}

// Bytes of all gaps as varints.
template <typename T>
std::uint64_t varint_gap_bytes(std::span<const T> elements) {
  std::uint64_t bytes = 0;
  for (std::size_t i = 1; i < elements.size(); ++i) {
    const auto gap = static_cast<std::uint32_t>(elements[i] - elements[i - 1] - 1);
    bytes += (std::bit_width(gap | 1U) + 6U) / 7U;
  }
  return bytes;
}

template <typename T>
std::byte* put_element_runs(std::span<const T> elements, std::byte* to) {
  std::size_t start = 0;
  for (std::size_t i = 1; i <= elements.size(); ++i) {
    if (i < elements.size() && elements[i] - elements[i - 1] == 1) continue;
    to = put_varint(to, i - start - 1);
    if (i < elements.size())
      to = put_varint(to, static_cast<std::uint64_t>(elements[i] - elements[i - 1]) - 2);
    start = i;
  }
  return to;
}

std::byte* put_stored_runs(std::span<const std::uint16_t> runs, std::byte* to) {
  to = put_varint(to, runs[1]);
  for (std::size_t i = 2; i < runs.size(); i += 2) {
    const int gap = runs[i] - (runs[i - 2] + runs[i - 1] + 1);
    to = put_varint(to, static_cast<std::uint64_t>(gap) - 1);
    to = put_varint(to, runs[i + 1]);
  }
  return to;
}

void set_run(std::span<std::uint64_t> words, std::uint32_t first, std::uint32_t last) {
  const std::uint64_t head = ~std::uint64_t{0} << (first % 64);
  const std::uint64_t tail = ~std::uint64_t{0} >> (63 - (last % 64));
  if (first / 64 == last / 64) {
    words[first / 64] |= head & tail;
    return;
  }
  words[first / 64] |= head;
  for (std::uint32_t w = (first / 64) + 1; w < last / 64; ++w) words[w] = ~std::uint64_t{0};
  words[last / 64] |= tail;
}

}  // namespace

void CompactEncoder::begin_block() {
  std::fill(previous_.begin(), previous_.end(), 0);
  base_ = 0;
  size_ = 0;
}

std::byte* CompactEncoder::put_prefix(std::span<const Cell> prefix, unsigned& tag, std::byte* to) {
  const std::size_t cells = prefix.size();
  std::size_t changed = 0;
  while (changed < cells && prefix[changed] == previous_[changed]) ++changed;
  if (changed < cells) {
    const std::int64_t delta =
        static_cast<std::int64_t>(prefix[changed]) - static_cast<std::int64_t>(previous_[changed]);
    if (changed + 1 == cells && delta == 1) {
      tag |= 1U << 4;
    } else if (changed + 1 == cells && delta > 0) {
      tag |= 2U << 4;
      to = put_varint(to, static_cast<std::uint64_t>(delta));
    } else {
      tag |= 3U << 4;
      to = put_varint(to, changed);
      to = put_varint(to, zigzag(delta));
      for (std::size_t i = changed + 1; i < cells; ++i) to = put_varint(to, prefix[i]);
    }
    for (std::size_t i = changed; i < cells; ++i) previous_[i] = prefix[i];
  }
  return to;
}

std::byte* CompactEncoder::put_head(std::span<const Cell> prefix, const Form& form, std::byte* to) {
  std::byte* const tag_at = to++;
  auto tag = static_cast<unsigned>(form.kind);
  to = put_prefix(prefix, tag, to);
  if (form.base == base_) {
    tag |= 1U << 3;
  } else {
    to = put_varint(
        to, zigzag(static_cast<std::int64_t>(form.base) - static_cast<std::int64_t>(base_)));
    base_ = form.base;
  }
  if (form.kind != FragmentKind::kSingle) {
    if (form.size == size_) {
      tag |= 1U << 6;
    } else {
      to = put_varint(to, form.size);
      size_ = form.size;
    }
  }
  *tag_at = static_cast<std::byte>(tag);
  return to;
}

template <typename T>
std::byte* CompactEncoder::encode_elements(std::span<const Cell> prefix, Cell base,
                                           std::span<const T> elements, std::byte* to) {
  const auto count = static_cast<std::uint32_t>(elements.size());
  const Cell first = base + elements[0];
  if (count == 1)
    return put_head(prefix, {.kind = FragmentKind::kSingle, .base = first, .size = 1}, to);
  const GapStatistics s = examine_gaps(elements);
  const bool narrow = s.any < 256;
  const std::uint64_t gap_bytes = narrow ? count : varint_gap_bytes(elements);
  const auto span = static_cast<std::uint64_t>(elements[count - 1] - elements[0]) + 1;
  if (span <= kCompactLimits.words * 64 && span / 8 < gap_bytes && s.runs * 2 > span / 8) {
    SetView bitmap;
    bitmap.kind = SetKind::kBitmap;
    bitmap.base = first;
    bitmap.count = count;
    const std::size_t words = (span + 63) / 64;
    std::fill_n(words_.begin(), words, 0);
    for (const T element : elements) {
      const auto bit = static_cast<std::size_t>(element - elements[0]);
      words_[bit / 64] |= std::uint64_t{1} << (bit % 64);
    }
    bitmap.words = std::span(words_).first(words);
    return encode_bitmap(prefix, bitmap, to);
  }
  if (s.runs * 2 < gap_bytes) {
    to = put_head(
        prefix,
        {.kind = FragmentKind::kRuns, .base = first, .size = static_cast<std::uint32_t>(s.runs)},
        to);
    return put_element_runs(elements, to);
  }
  to = put_head(prefix,
                {.kind = narrow ? FragmentKind::kGaps8 : FragmentKind::kGapsVarint,
                 .base = first,
                 .size = count},
                to);
  if (narrow) {
    const T* const at = elements.data();
    for (std::uint32_t i = 1; i < count; ++i)
      to[i - 1] = static_cast<std::byte>(at[i] - at[i - 1] - 1);
    return to + (count - 1);
  }
  for (std::uint32_t i = 1; i < count; ++i)
    to = put_varint(to, static_cast<std::uint32_t>(elements[i] - elements[i - 1] - 1));
  return to;
}

std::byte* CompactEncoder::encode_bitmap(std::span<const Cell> prefix, const SetView& set,
                                         std::byte* to) {
  std::span<const std::uint64_t> words = set.words;
  Cell base = set.base;
  if (words.size() > kTrimWords) {
    while (words.back() == 0) words = words.first(words.size() - 1);
    while (words.front() == 0) {
      words = words.subspan(1);
      base += 64;
    }
  }
  if (set.count == 1) {
    const Cell element = base + static_cast<Cell>(first_bit(words));
    return put_head(prefix, {.kind = FragmentKind::kSingle, .base = element, .size = 1}, to);
  }
  const BitmapStatistics s = examine(words);
  const std::uint64_t sparse = words.size() + s.bytes;
  const std::uint64_t full = words.size() * 8;
  const std::uint64_t bitmap_cost = std::min(sparse, full);
  if (s.runs * 2 < bitmap_cost && s.runs * 2 <= set.count) {
    const Cell first = base + static_cast<Cell>(first_bit(words));
    to = put_head(
        prefix,
        {.kind = FragmentKind::kRuns, .base = first, .size = static_cast<std::uint32_t>(s.runs)},
        to);
    return put_runs(words, to);
  }
  // Elements cost at least a byte each; beyond one in 16 bits a bitmap is never worse by much.
  if (set.count + 2 < bitmap_cost && set.count <= elements_.size()) {
    std::size_t count = 0;
    for (std::size_t w = 0; w < words.size(); ++w)
      for (std::uint64_t word = words[w]; word != 0; word &= word - 1)
        elements_[count++] =
            static_cast<Cell>(base + (w * 64) + static_cast<Cell>(std::countr_zero(word)));
    const GapStatistics gaps = examine_gaps(std::span<const Cell>(elements_).first(count));
    if (gaps.any < 256) {
      to = put_head(prefix,
                    {.kind = FragmentKind::kGaps8,
                     .base = elements_[0],
                     .size = static_cast<std::uint32_t>(count)},
                    to);
      for (std::size_t i = 1; i < count; ++i)
        *to++ = static_cast<std::byte>(elements_[i] - elements_[i - 1] - 1);
      return to;
    }
    if (varint_gap_bytes(std::span<const Cell>(elements_).first(count)) < bitmap_cost) {
      to = put_head(prefix,
                    {.kind = FragmentKind::kGapsVarint,
                     .base = elements_[0],
                     .size = static_cast<std::uint32_t>(count)},
                    to);
      for (std::size_t i = 1; i < count; ++i)
        to = put_varint(to, elements_[i] - elements_[i - 1] - 1);
      return to;
    }
  }
  const Form form{.kind = sparse < full ? FragmentKind::kSparseBytes : FragmentKind::kWords,
                  .base = base,
                  .size = static_cast<std::uint32_t>(words.size())};
  to = put_head(prefix, form, to);
  if (form.kind == FragmentKind::kSparseBytes) return put_sparse_bytes(words, to);
  std::memcpy(to, words.data(), full);
  return to + full;
}

// Few runs are never larger than a bitmap; where there are more, the bitmap is made and looked at.
std::byte* CompactEncoder::encode_runs(std::span<const Cell> prefix, const SetView& set,
                                       std::byte* to) {
  constexpr std::size_t kFewRuns = 4;
  const std::span<const std::uint16_t> runs = set.offsets;
  const std::size_t count = runs.size() / 2;
  const Cell first = set.base + runs[0];
  if (set.count == 1)
    return put_head(prefix, {.kind = FragmentKind::kSingle, .base = first, .size = 1}, to);
  if (count <= kFewRuns && count * 2 <= set.count) {
    to = put_head(
        prefix,
        {.kind = FragmentKind::kRuns, .base = first, .size = static_cast<std::uint32_t>(count)},
        to);
    return put_stored_runs(runs, to);
  }
  const std::uint32_t last = std::uint32_t{runs[runs.size() - 2]} + runs[runs.size() - 1];
  // As many words as other rows with this base are likely to have.
  const std::size_t words = ((last / 512) + 1) * 8;
  std::fill_n(words_.begin(), words, 0);
  for (std::size_t i = 0; i < runs.size(); i += 2)
    set_run(words_, runs[i], std::uint32_t{runs[i]} + runs[i + 1]);
  SetView bitmap;
  bitmap.kind = SetKind::kBitmap;
  bitmap.base = set.base;
  bitmap.count = set.count;
  bitmap.words = std::span(words_).first(words);
  return encode_bitmap(prefix, bitmap, to);
}

std::byte* CompactEncoder::encode(std::span<const Cell> prefix, const SetView& set, std::byte* to) {
  switch (set.kind) {
    case SetKind::kArray:
      return encode_elements<Cell>(prefix, 0, set.values, to);
    case SetKind::kOffsets:
      return encode_elements<std::uint16_t>(prefix, set.base, set.offsets, to);
    case SetKind::kRuns:
      return encode_runs(prefix, set, to);
    case SetKind::kBitmap:
      break;
  }
  return encode_bitmap(prefix, set, to);
}

}  // namespace stratalog
