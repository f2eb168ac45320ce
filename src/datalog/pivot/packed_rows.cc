// SPDX-License-Identifier: Apache-2.0
// Row formats. Each row is one header word of 16 bits and its payload: kind in the top two bits, a
// count below.
//   offsets  count offsets, ascending
//   runs     count pairs (first offset, length - 1)
//   bitmap   4 * width words of 16 bits, least significant first
// Local.
#include "datalog/pivot/packed_rows.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace stratalog {
namespace {

constexpr std::uint16_t kOffsetsTag = 0U << 14;
constexpr std::uint16_t kRunsTag = 1U << 14;
constexpr std::uint16_t kBitmapTag = 2U << 14;
constexpr std::uint16_t kCountMask = (1U << 14) - 1;

void set_run(std::uint64_t* words, std::uint32_t first, std::uint32_t last) {
  const std::uint64_t head = ~std::uint64_t{0} << (first % 64);
  const std::uint64_t tail = ~std::uint64_t{0} >> (63 - last % 64);
  if (first / 64 == last / 64) {
    words[first / 64] |= head & tail;
    return;
  }
  words[first / 64] |= head;
  for (std::uint32_t w = first / 64 + 1; w < last / 64; ++w) words[w] = ~std::uint64_t{0};
  words[last / 64] |= tail;
}

void append_offsets(std::vector<std::uint16_t>& stream, const std::uint64_t* words,
                    std::uint32_t width) {
  for (std::uint32_t w = 0; w < width; ++w)
    for (std::uint64_t word = words[w]; word != 0; word &= word - 1)
      stream.push_back(static_cast<std::uint16_t>(w * 64 + std::countr_zero(word)));
}

// Walks the starts and the ends of runs in parallel; both are bit sets of the same size.
void append_runs(std::vector<std::uint16_t>& stream, const std::uint64_t* words,
                 std::uint32_t width) {
  std::uint32_t start = 0;
  bool open = false;
  for (std::uint32_t w = 0; w < width; ++w) {
    std::uint32_t bit = 0;
    while (bit < 64) {
      const std::uint64_t rest = (open ? ~words[w] : words[w]) >> bit;
      if (rest == 0) break;
      bit += static_cast<std::uint32_t>(std::countr_zero(rest));
      if (open) {
        stream.push_back(static_cast<std::uint16_t>(start));
        stream.push_back(static_cast<std::uint16_t>(w * 64 + bit - 1 - start));
      } else {
        start = w * 64 + bit;
      }
      open = !open;
    }
  }
  if (open) {
    stream.push_back(static_cast<std::uint16_t>(start));
    stream.push_back(static_cast<std::uint16_t>(width * 64 - 1 - start));
  }
}

}  // namespace

void PackedRows::append(SlotId slot, const std::uint64_t* words, std::uint32_t width) {
  std::uint32_t count = 0;
  std::uint32_t runs = 0;
  std::uint64_t carry = 0;
  for (std::uint32_t w = 0; w < width; ++w) {
    count += static_cast<std::uint32_t>(std::popcount(words[w]));
    runs += static_cast<std::uint32_t>(std::popcount(words[w] & ~((words[w] << 1) | carry)));
    carry = words[w] >> 63;
  }
  sorted_ = sorted_ && (slots_.empty() || slots_.back() < slot);
  if (slots_.size() % kSkipRows == 0) skips_.push_back(stream_.size());
  slots_.push_back(slot);
  tuples_ += count;
  const std::uint32_t bitmap_size = 4 * width;
  if (2 * runs < count && 2 * runs <= bitmap_size) {
    stream_.push_back(static_cast<std::uint16_t>(kRunsTag | runs));
    append_runs(stream_, words, width);
  } else if (count <= bitmap_size) {
    stream_.push_back(static_cast<std::uint16_t>(kOffsetsTag | count));
    append_offsets(stream_, words, width);
  } else {
    stream_.push_back(static_cast<std::uint16_t>(kBitmapTag | count));
    const std::size_t at = stream_.size();
    stream_.resize(at + bitmap_size);
    std::memcpy(stream_.data() + at, words, std::size_t{width} * 8);
  }
}

template <bool kUnite>
void PackedRows::Cursor::unpack(std::uint64_t* words) {
  const std::uint16_t* in = rows_->stream_.data() + at_;
  const std::uint32_t tag = *in & ~kCountMask;
  const std::uint32_t count = *in & kCountMask;
  ++in;
  if (!kUnite && tag != kBitmapTag) std::fill(words, words + width_, 0);
  std::uint32_t size = count;
  if (tag == kOffsetsTag) {
    for (std::uint32_t i = 0; i < count; ++i) words[in[i] / 64] |= std::uint64_t{1} << (in[i] % 64);
  } else if (tag == kRunsTag) {
    size = 2 * count;
    for (std::uint32_t i = 0; i < size; i += 2) set_run(words, in[i], in[i] + in[i + 1]);
  } else {
    size = 4 * width_;
    std::uint64_t row[kMaxRowWords];
    std::memcpy(row, in, std::size_t{width_} * 8);
    for (std::uint32_t w = 0; w < width_; ++w) words[w] = (kUnite ? words[w] : 0) | row[w];
  }
  at_ += 1 + size;
  ++row_;
}

template void PackedRows::Cursor::unpack<false>(std::uint64_t* words);
template void PackedRows::Cursor::unpack<true>(std::uint64_t* words);

void PackedRows::clear() { *this = PackedRows(); }

void PackedRows::shrink_to_fit() {
  slots_.shrink_to_fit();
  stream_.shrink_to_fit();
  skips_.shrink_to_fit();
}

bool PackedRows::contains(SlotId slot, std::uint32_t offset, std::uint32_t width) const {
  const auto at = std::lower_bound(slots_.begin(), slots_.end(), slot);
  if (at == slots_.end() || *at != slot) return false;
  const auto row = static_cast<std::uint64_t>(at - slots_.begin());
  Cursor cursor(*this, width);
  cursor.row_ = row / kSkipRows * kSkipRows;
  cursor.at_ = skips_[row / kSkipRows];
  std::uint64_t words[kMaxRowWords];
  while (cursor.row_ < row) cursor.read(words);
  cursor.read(words);
  return (words[offset / 64] >> (offset % 64) & 1) != 0;
}

}  // namespace stratalog
