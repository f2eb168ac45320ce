// SPDX-License-Identifier: Apache-2.0
#include "encode/packed_stream.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <type_traits>

#include "encode/byte_order.h"

namespace stratalog {
namespace {

// Head of a unit: width, and two flags.
constexpr unsigned kWidthMask = 0x3F;
constexpr unsigned kHasExceptions = 0x40;
constexpr unsigned kIsDifferences = 0x80;
// Exceptions of a unit: how many, and how wide their high parts are (0: one byte, 1: two, 2: four).
constexpr unsigned kCountMask = 0x3F;
constexpr unsigned kSizeShift = 6;
constexpr std::uint32_t kMaxExceptions = 63;

constexpr unsigned high_size(std::uint32_t high) { return high < 256 ? 0 : high < 65536 ? 1 : 2; }

constexpr std::size_t round_up(std::size_t bytes, std::size_t to) {
  return (bytes + to - 1) / to * to;
}

constexpr std::uint32_t zigzag32(std::uint32_t difference) {
  return (difference << 1) ^ (0 - (difference >> 31));
}
constexpr std::uint32_t unzigzag32(std::uint32_t value) { return (value >> 1) ^ (0 - (value & 1)); }

std::uint32_t count_above(std::span<const std::uint32_t, kPackedValues> unit, std::uint32_t limit) {
  std::uint32_t count = 0;
  for (const std::uint32_t value : unit) count += value > limit ? 1U : 0U;
  return count;
}

// Neighbours' differences modulo 2^32, zigzagged; returns the or of all of them.
std::uint32_t make_differences(std::span<const std::uint32_t, kPackedValues> unit, std::size_t used,
                               std::span<std::uint32_t, kPackedValues> to) {
  to[0] = zigzag32(unit[0]);
  std::uint32_t any = to[0];
  for (std::size_t i = 1; i < kPackedValues; ++i) {
    to[i] = i < used ? zigzag32(unit[i] - unit[i - 1]) : 0;
    any |= to[i];
  }
  return any;
}

template <typename T>
std::byte* copy_items(const std::vector<T>& items, std::byte* to) {
  if (!items.empty()) std::memcpy(to, items.data(), items.size() * sizeof(T));
  return to + (items.size() * sizeof(T));
}

}  // namespace

void StreamPacker::put_all(std::span<const std::uint32_t> values) {
  while (!values.empty()) {
    const auto some = values.first(std::min(values.size(), kPackedValues - used_));
    std::uint32_t any = any_;
    for (std::size_t i = 0; i < some.size(); ++i) {
      unit_[used_ + i] = some[i];
      any |= some[i];
    }
    any_ = any;
    used_ += some.size();
    values = values.subspan(some.size());
    if (used_ == kPackedValues) pack_unit();
  }
}

void StreamPacker::put_zeros(std::uint64_t count) {
  while (count >= kPackedValues - used_) {
    count -= kPackedValues - used_;
    used_ = kPackedValues;
    pack_unit();
  }
  used_ += count;
}

// The width at which the unit is smallest. The number of exceptions grows as the width shrinks, so
// the search ends where it passes what a head can say.
StreamPacker::Choice StreamPacker::choose(std::span<const std::uint32_t, kPackedValues> unit,
                                          std::uint32_t any) {
  const auto widest = static_cast<unsigned>(std::bit_width(any));
  Choice best{.width = widest, .exceptions = 0, .bytes = 32 * widest};
  // Where only the first number is wider (of differences it often is), no width in between is best.
  std::uint32_t others = 0;
  for (std::size_t i = 1; i < kPackedValues; ++i) others |= unit[i];
  const auto from = static_cast<unsigned>(std::bit_width(others)) + 1;
  for (unsigned width = std::min(widest, from); width-- > 0;) {
    const std::uint32_t exceptions = count_above(unit, (std::uint32_t{1} << width) - 1);
    if (exceptions > kMaxExceptions) break;
    const std::size_t high_bytes = std::size_t{1} << high_size(any >> width);
    const std::size_t bytes = (32 * width) + 1 + (exceptions * (1 + high_bytes));
    if (bytes < best.bytes) best = {.width = width, .exceptions = exceptions, .bytes = bytes};
  }
  return best;
}

void StreamPacker::put_exceptions(std::span<const std::uint32_t, kPackedValues> unit,
                                  std::uint32_t any, const Choice& choice) {
  const unsigned size = high_size(any >> choice.width);
  exceptions_.push_back(static_cast<std::uint8_t>(choice.exceptions | (size << kSizeShift)));
  // Without branches: where the exceptions are cannot be predicted.
  std::array<std::uint8_t, kPackedValues + 1> positions;  // NOLINT: filled as far as it is read
  std::size_t found = 0;
  for (std::size_t i = 0; i < kPackedValues; ++i) {
    positions[found] = static_cast<std::uint8_t>(i);
    found += (unit[i] >> choice.width) != 0 ? 1 : 0;
  }
  positions_.insert(positions_.end(), positions.begin(), positions.begin() + found);
  const auto put = [&](auto& highs) {
    using High = typename std::remove_reference_t<decltype(highs)>::value_type;
    for (std::size_t i = 0; i < found; ++i)
      highs.push_back(static_cast<High>(unit[positions[i]] >> choice.width));
  };
  if (size == 0)
    put(high8_);
  else if (size == 1)
    put(high16_);
  else
    put(high32_);
}

void StreamPacker::pack_unit() {
  values_ += used_;
  if (any_ == 0) {
    heads_.push_back(0);
    used_ = 0;
    return;
  }
  Choice choice;
  if (form_ != UnitForm::kDifferences) choice = choose(unit_, any_);
  std::uint32_t any = any_;
  unsigned flags = 0;
  if (form_ != UnitForm::kPlain) {
    std::array<std::uint32_t, kPackedValues> differences;  // NOLINT: filled by make_differences
    const std::uint32_t other_any = make_differences(unit_, used_, differences);
    const Choice other = choose(differences, other_any);
    if (form_ == UnitForm::kDifferences || other.bytes < choice.bytes) {
      choice = other;
      any = other_any;
      flags = kIsDifferences;
      unit_ = differences;
    }
  }
  heads_.push_back(static_cast<std::uint8_t>(choice.width | flags |
                                             (choice.exceptions != 0 ? kHasExceptions : 0U)));
  if (choice.exceptions != 0) put_exceptions(unit_, any, choice);
  const std::size_t at = words_.size();
  words_.resize(at + packed_words(choice.width));
  pack_bits(unit_, choice.width, words_.data() + at);
  unit_.fill(0);
  used_ = 0;
  any_ = 0;
}

void StreamPacker::finish() {
  if (used_ != 0) pack_unit();
}

std::size_t StreamPacker::finished_bytes() const {
  return round_up(round_up(heads_.size() + exceptions_.size(), 4) + (words_.size() * 4) +
                      (high32_.size() * 4) + (high16_.size() * 2) + high8_.size() +
                      positions_.size(),
                  4);
}

std::byte* StreamPacker::copy_to(std::byte* to) const {
  std::byte* const end = to + finished_bytes();
  std::byte* at = copy_items(exceptions_, copy_items(heads_, to));
  while ((at - to) % 4 != 0) *at++ = std::byte{0};
  at = copy_items(high32_, copy_items(words_, at));
  at = copy_items(positions_, copy_items(high8_, copy_items(high16_, at)));
  std::fill(at, end, std::byte{0});
  return end;
}

void StreamPacker::clear() {
  unit_.fill(0);
  used_ = 0;
  any_ = 0;
  values_ = 0;
  heads_.clear();
  exceptions_.clear();
  positions_.clear();
  high8_.clear();
  high16_.clear();
  high32_.clear();
  words_.clear();
}

bool StreamUnpacker::open(std::span<const std::byte> bytes, std::uint64_t values) {
  remaining_ = values;
  at_ = kPackedValues;
  const std::uint64_t units = (values / kPackedValues) + (values % kPackedValues != 0 ? 1 : 0);
  if (units > bytes.size()) return false;
  std::size_t with_exceptions = 0;
  std::size_t words = 0;
  for (std::uint64_t u = 0; u < units; ++u) {
    const auto head = static_cast<unsigned>(bytes[u]);
    if ((head & kWidthMask) > kMaxPackedWidth) return false;
    words += packed_words(head & kWidthMask);
    with_exceptions += (head & kHasExceptions) != 0 ? 1 : 0;
  }
  const std::size_t front = units + with_exceptions;
  if (front > bytes.size()) return false;
  std::size_t count[3] = {0, 0, 0};
  for (std::size_t i = units; i < front; ++i) {
    const auto entry = static_cast<unsigned>(bytes[i]);
    if ((entry & kCountMask) == 0 || (entry >> kSizeShift) > 2) return false;
    count[entry >> kSizeShift] += entry & kCountMask;
  }
  const std::size_t positions = count[0] + count[1] + count[2];
  const std::size_t total = round_up(
      round_up(front, 4) + (words * 4) + (count[2] * 4) + (count[1] * 2) + count[0] + positions, 4);
  if (total != bytes.size()) return false;
  heads_ = bytes.data();
  exceptions_ = heads_ + units;
  words_ = heads_ + round_up(front, 4);
  high32_ = words_ + (words * 4);
  high16_ = high32_ + (count[2] * 4);
  high8_ = high16_ + (count[1] * 2);
  positions_ = high8_ + count[0];
  return true;
}

void StreamUnpacker::unpack_unit() {
  const auto head = static_cast<unsigned>(*heads_++);
  const unsigned width = head & kWidthMask;
  unpack_bits(words_, width, unit_);
  words_ += packed_words(width) * 4;
  if ((head & kHasExceptions) != 0) {
    const auto entry = static_cast<unsigned>(*exceptions_++);
    const unsigned count = entry & kCountMask;
    for (unsigned i = 0; i < count; ++i) {
      std::uint32_t high = 0;
      switch (entry >> kSizeShift) {
        case 0:
          high = static_cast<std::uint32_t>(*high8_++);
          break;
        case 1:
          high = load_le<std::uint16_t>(high16_);
          high16_ += 2;
          break;
        default:
          high = load_le<std::uint32_t>(high32_);
          high32_ += 4;
          break;
      }
      if (width < 32) unit_[static_cast<std::size_t>(*positions_)] |= high << width;
      ++positions_;
    }
  }
  if ((head & kIsDifferences) != 0) {
    std::uint32_t value = 0;
    for (std::uint32_t& number : unit_) {
      value += unzigzag32(number);
      number = value;
    }
  }
  at_ = 0;
}

std::span<const std::uint32_t> StreamUnpacker::take(std::uint64_t most) {
  if (at_ == kPackedValues) unpack_unit();
  const std::size_t count = std::min({most, remaining_, std::uint64_t{kPackedValues - at_}});
  const auto taken = std::span<const std::uint32_t>(unit_).subspan(at_, count);
  at_ += count;
  remaining_ -= count;
  return taken;
}

}  // namespace stratalog
