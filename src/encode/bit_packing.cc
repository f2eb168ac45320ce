// SPDX-License-Identifier: Apache-2.0
// One pair of functions for each width, chosen by a table: with the width known, the compiler turns
// every shift into a constant and the eight lanes into one vector.
#include "encode/bit_packing.h"

#include <array>
#include <cstring>
#include <utility>

namespace stratalog {
namespace {

constexpr std::size_t kLanes = 8;
constexpr std::size_t kSlots = kPackedValues / kLanes;

typedef std::uint32_t Lanes __attribute__((vector_size(4 * kLanes)));  // NOLINT: attribute needs it

Lanes load(const void* from) {
  Lanes lanes;
  std::memcpy(&lanes, from, sizeof(lanes));
  return lanes;
}

void store(std::uint32_t* to, Lanes lanes) { std::memcpy(to, &lanes, sizeof(lanes)); }

// Number `kSlot` of every lane. `words` are as many vectors as the width.
template <unsigned kWidth, std::size_t kSlot>
void pack_slot(const std::uint32_t* values, Lanes* words) {
  constexpr std::uint32_t kMask = (std::uint32_t{1} << kWidth) - 1;
  constexpr std::size_t kWord = kSlot * kWidth / 32;
  constexpr unsigned kShift = kSlot * kWidth % 32;
  const Lanes value = load(values + (kSlot * kLanes)) & kMask;
  if constexpr (kShift == 0)
    words[kWord] = value;
  else
    words[kWord] |= value << kShift;
  if constexpr (kShift + kWidth > 32) words[kWord + 1] = value >> (32 - kShift);
}

template <unsigned kWidth, std::size_t kSlot>
void unpack_slot(const std::byte* from, std::uint32_t* values) {
  constexpr std::uint32_t kMask = (std::uint32_t{1} << kWidth) - 1;
  constexpr std::size_t kWord = kSlot * kWidth / 32;
  constexpr unsigned kShift = kSlot * kWidth % 32;
  Lanes value = load(from + (kWord * sizeof(Lanes))) >> kShift;
  if constexpr (kShift + kWidth > 32)
    value |= load(from + ((kWord + 1) * sizeof(Lanes))) << (32 - kShift);
  store(values + (kSlot * kLanes), value & kMask);
}

template <unsigned kWidth, std::size_t... kSlot>
void pack_slots(const std::uint32_t* values, std::uint32_t* to,
                std::index_sequence<kSlot...> /*slots*/) {
  Lanes words[kWidth];
  (pack_slot<kWidth, kSlot>(values, words), ...);
  std::memcpy(to, words, sizeof(words));
}

template <unsigned kWidth, std::size_t... kSlot>
void unpack_slots(const std::byte* from, std::uint32_t* values,
                  std::index_sequence<kSlot...> /*slots*/) {
  (unpack_slot<kWidth, kSlot>(from, values), ...);
}

template <unsigned kWidth>
void pack(const std::uint32_t* values, std::uint32_t* to) {
  if constexpr (kWidth == 32)
    std::memcpy(to, values, kPackedValues * sizeof(std::uint32_t));
  else if constexpr (kWidth != 0)
    pack_slots<kWidth>(values, to, std::make_index_sequence<kSlots>());
}

template <unsigned kWidth>
void unpack(const std::byte* from, std::uint32_t* values) {
  if constexpr (kWidth == 0)
    std::memset(values, 0, kPackedValues * sizeof(std::uint32_t));
  else if constexpr (kWidth == 32)
    std::memcpy(values, from, kPackedValues * sizeof(std::uint32_t));
  else
    unpack_slots<kWidth>(from, values, std::make_index_sequence<kSlots>());
}

using Pack = void (*)(const std::uint32_t*, std::uint32_t*);
using Unpack = void (*)(const std::byte*, std::uint32_t*);

template <unsigned... kWidths>
constexpr auto packers(std::integer_sequence<unsigned, kWidths...> /*widths*/) {
  return std::array<Pack, sizeof...(kWidths)>{pack<kWidths>...};
}

template <unsigned... kWidths>
constexpr auto unpackers(std::integer_sequence<unsigned, kWidths...> /*widths*/) {
  return std::array<Unpack, sizeof...(kWidths)>{unpack<kWidths>...};
}

constexpr auto kWidths = std::make_integer_sequence<unsigned, kMaxPackedWidth + 1>();
constexpr auto kPackers = packers(kWidths);
constexpr auto kUnpackers = unpackers(kWidths);

}  // namespace

void pack_bits(std::span<const std::uint32_t, kPackedValues> values, unsigned width,
               std::uint32_t* to) {
  kPackers[width](values.data(), to);
}

void unpack_bits(const std::byte* from, unsigned width,
                 std::span<std::uint32_t, kPackedValues> values) {
  kUnpackers[width](from, values.data());
}

}  // namespace stratalog
