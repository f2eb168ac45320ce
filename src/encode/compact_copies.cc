// SPDX-License-Identifier: Apache-2.0
// The writing half of the compact encoding, as far as sets go that a block holds already: which
// ones they are, and the copies that stand for them. Most groups of large closures are copies,
// and pass here without their sets being looked at. Local.
#include <array>
#include <bit>
#include <utility>

#if defined(__BMI2__)
#include <immintrin.h>
#endif

#include "encode/byte_order.h"
#include "encode/compact_codec.h"
#include "model/group_batch.h"

namespace stratalog {
namespace {

constexpr unsigned kKnownBits = 11;

// The bits of a number below 2^35 by seven to a byte, as in a varint, without its marks.
std::uint64_t spread_sevens(std::uint64_t value) {
#if defined(__BMI2__)
  return _pdep_u64(value, 0x7F7F7F7F7FULL);
#else
  std::uint64_t bytes = 0;
  for (unsigned b = 0; b < 5; ++b) bytes |= ((value >> (b * 7)) & 0x7F) << (b * 8);
  return bytes;
#endif
}

// How a change of a prefix of one cell is written in the tag of a copy and behind it.
struct PrefixForm {
  std::uint64_t marks = 0;  // of the varint
  std::uint16_t head = 0;  // the tag, and the zero that follows it where cells go down
  std::uint8_t head_bytes = 1;
  std::uint8_t value_bytes = 0;
};
constexpr std::size_t kPrefixWidths = 34;  // of numbers below 2^33
constexpr std::size_t kDown = kPrefixWidths;

// By the width of the value; first of those that go up, then of those that go down.
constexpr std::array<PrefixForm, 2 * kPrefixWidths> prefix_forms() {
  std::array<PrefixForm, 2 * kPrefixWidths> forms{};
  for (std::size_t at = 0; at < forms.size(); ++at) {
    PrefixForm& form = forms[at];
    const std::size_t width = at % kPrefixWidths;
    const unsigned changed = at >= kDown ? 3 : width < 2 ? static_cast<unsigned>(width) : 2;
    form.head =
        static_cast<std::uint16_t>(static_cast<unsigned>(FragmentKind::kCopy) | (changed << 4));
    form.head_bytes = changed == 3 ? 2 : 1;
    if (changed < 2) continue;
    form.value_bytes = static_cast<std::uint8_t>(width == 0 ? 1 : (width + 6) / 7);
    form.marks = 0x8080808080ULL & ((std::uint64_t{1} << ((form.value_bytes - 1) * 8)) - 1);
  }
  return forms;
}
constexpr auto kPrefixForms = prefix_forms();

// What CompactEncoder::put_copy() writes for a prefix of one cell, without a branch: neither the
// order of prefixes nor the distances can be predicted. `distance` is below 2^14.
std::byte* put_short_copy(Cell previous, Cell cell, std::uint32_t distance, std::byte* to) {
  const std::int64_t delta = static_cast<std::int64_t>(cell) - static_cast<std::int64_t>(previous);
  const bool is_down = delta < 0;
  const std::uint64_t value = is_down ? zigzag(delta) : static_cast<std::uint64_t>(delta);
  const PrefixForm& form =
      kPrefixForms[static_cast<std::size_t>(std::bit_width(value)) + (is_down ? kDown : 0)];
  store_le(to, form.head);
  to += form.head_bytes;
  store_le(to, spread_sevens(value) | form.marks);
  to += form.value_bytes;
  const unsigned is_long = distance > 0x7F ? 1 : 0;
  store_le(to, static_cast<std::uint16_t>((distance + (distance & ~0x7FU)) | (is_long << 7)));
  return to + 1 + is_long;
}
static_assert(kCopyReach <= 1U << 14);

}  // namespace

CompactEncoder::Spelled& CompactEncoder::place_of(std::uint64_t content) {
  if (known_.empty()) known_.resize(std::size_t{1} << kKnownBits);
  return known_[place_of_content(content, kKnownBits)];
}

std::byte* CompactEncoder::put_copy(std::span<const Cell> prefix, std::uint32_t distance,
                                    std::byte* to) {
  std::byte* const tag_at = to++;
  auto tag = static_cast<unsigned>(FragmentKind::kCopy);
  to = put_prefix(prefix, tag, to);
  *tag_at = static_cast<std::byte>(tag);
  return put_varint(to, distance);
}

std::byte* CompactEncoder::encode(std::span<const Cell> prefix, const SetView& set,
                                  std::uint64_t content, std::byte* to) {
  Spelled& known = place_of(content);
  const std::uint32_t number = spelled_;
  if (known.content == content && number - known.number <= kCopyReach) {
    ++copies_;
    return put_copy(prefix, number - known.number - 1, to);
  }
  to = encode(prefix, set, to);
  if (spelled_ != number)
    known = {.content = content, .number = number, .count = static_cast<std::uint32_t>(set.count)};
  return to;
}

// What the loop needs is in its own variables: the bytes that it writes could be members, for all
// that the compiler knows.
template <typename Put>
CompactEncoder::Copies CompactEncoder::copy_while_known(std::span<const std::uint64_t> contents,
                                                        std::uint64_t bytes, std::uint64_t rows,
                                                        std::byte* to, Put put) const {
  if (known_.empty()) return {.end = to};
  const Spelled* const known = known_.data();
  const std::byte* const full = to + bytes;
  const std::uint32_t spelled = spelled_;
  const std::uint32_t oldest = spelled > kCopyReach ? spelled - kCopyReach : 0;
  Copies done{.end = to};
  for (; done.groups < contents.size() && done.end < full && done.rows < rows; ++done.groups) {
    const std::uint64_t content = contents[done.groups];
    const Spelled& set = known[place_of_content(content, kKnownBits)];
    if (set.content != content || set.number < oldest) break;
    done.rows += set.count;
    done.end = put(spelled - set.number - 1, done.end);
  }
  return done;
}

CompactEncoder::Copies CompactEncoder::encode_copies(std::span<const Cell> prefixes,
                                                     std::span<const std::uint64_t> contents,
                                                     std::uint64_t bytes, std::uint64_t rows,
                                                     std::byte* to) {
  const std::size_t cells = previous_.size();
  const Copies done =
      cells == 1
          ? copy_while_known(contents, bytes, rows, to,
                             [cell = prefixes.data(), previous = previous_[0]](
                                 std::uint32_t distance, std::byte* at) mutable {
                               const Cell last = std::exchange(previous, *cell++);
                               return put_short_copy(last, previous, distance, at);
                             })
          : copy_while_known(
                contents, bytes, rows, to,
                [&, prefix = prefixes.data()](std::uint32_t distance, std::byte* at) mutable {
                  const Cell* const cell = std::exchange(prefix, prefix + cells);
                  return put_copy({cell, cells}, distance, at);
                });
  if (cells == 1 && done.groups != 0) previous_[0] = prefixes[done.groups - 1];
  copies_ += done.groups;
  return done;
}

}  // namespace stratalog
