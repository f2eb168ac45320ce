// SPDX-License-Identifier: Apache-2.0
// The two checksums of our files: XXH3 with 64 bits for blocks, seeded so that a block is valid in
// one place only, and with 128 bits for manifests and shards. Pure; local.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "model/multiset_hash.h"

namespace stratalog {

struct Hash128 {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  friend bool operator==(const Hash128&, const Hash128&) = default;
};

// 32 lower-case hex digits, most significant first, as `xxhsum -H2` prints.
std::string to_hex(const Hash128& hash);
// 16 lower-case hex digits.
std::string to_hex(std::uint64_t value);
std::optional<Hash128> parse_hash128(std::string_view hex);
std::optional<std::uint64_t> parse_hex64(std::string_view hex);

Hash128 hash128(std::span<const std::byte> bytes);
Hash128 hash128(std::string_view bytes);
// hash128 of bytes that come one after another.
class StreamHash128 {
 public:
  StreamHash128();
  ~StreamHash128();
  StreamHash128(const StreamHash128&) = delete;
  StreamHash128& operator=(const StreamHash128&) = delete;
  void add(std::span<const std::byte> bytes);
  Hash128 digest() const;

 private:
  void* state_;
};
std::uint64_t seeded_hash64(std::span<const std::byte> bytes, std::uint64_t seed);

// Identifies one attempt to write one generation; drawn at random.
using Nonce = Hash128;

// The seed of block `block` of file `file_id` in the generation with this nonce.
constexpr std::uint64_t block_seed(const Nonce& nonce, std::uint64_t file_id, std::uint64_t block) {
  return splitmix64(splitmix64(splitmix64(splitmix64(nonce.low) ^ nonce.high) ^ file_id) ^ block);
}

}  // namespace stratalog
