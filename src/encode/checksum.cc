// SPDX-License-Identifier: Apache-2.0
#include "encode/checksum.h"

#include <fmt/format.h>
// Compiled here, for the instructions that we compile for; the library has those of any machine.
#define XXH_INLINE_ALL  // NOLINT(readability-identifier-naming): the header's name for it
#include <xxhash.h>

namespace stratalog {

std::string to_hex(std::uint64_t value) { return fmt::format("{:016x}", value); }

std::string to_hex(const Hash128& hash) {
  return fmt::format("{:016x}{:016x}", hash.high, hash.low);
}

std::optional<std::uint64_t> parse_hex64(std::string_view hex) {
  if (hex.size() != 16) return std::nullopt;
  std::uint64_t value = 0;
  for (const char c : hex) {
    const bool digit = c >= '0' && c <= '9';
    if (!digit && (c < 'a' || c > 'f')) return std::nullopt;
    value = (value << 4) | static_cast<std::uint64_t>(digit ? c - '0' : c - 'a' + 10);
  }
  return value;
}

std::optional<Hash128> parse_hash128(std::string_view hex) {
  if (hex.size() != 32) return std::nullopt;
  const auto high = parse_hex64(hex.substr(0, 16));
  const auto low = parse_hex64(hex.substr(16));
  if (!high || !low) return std::nullopt;
  return Hash128{.low = *low, .high = *high};
}

Hash128 hash128(std::span<const std::byte> bytes) {
  const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  return {.low = hash.low64, .high = hash.high64};
}

Hash128 hash128(std::string_view bytes) { return hash128(std::as_bytes(std::span(bytes))); }

StreamHash128::StreamHash128() : state_(XXH3_createState()) {
  XXH3_128bits_reset(static_cast<XXH3_state_t*>(state_));
}

StreamHash128::~StreamHash128() { XXH3_freeState(static_cast<XXH3_state_t*>(state_)); }

void StreamHash128::add(std::span<const std::byte> bytes) {
  XXH3_128bits_update(static_cast<XXH3_state_t*>(state_), bytes.data(), bytes.size());
}

Hash128 StreamHash128::digest() const {
  const XXH128_hash_t hash = XXH3_128bits_digest(static_cast<const XXH3_state_t*>(state_));
  return {.low = hash.low64, .high = hash.high64};
}

std::uint64_t seeded_hash64(std::span<const std::byte> bytes, std::uint64_t seed) {
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
}

}  // namespace stratalog
