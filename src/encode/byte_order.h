// SPDX-License-Identifier: Apache-2.0
// Little-endian numbers and varints in byte buffers: what all of our formats are made of. Loads and
// stores do not check bounds; ByteReader does. Pure; local.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace stratalog {

static_assert(std::endian::native == std::endian::little, "formats are little-endian");

// The highest cell: what the varint of a cell or of a difference of cells may hold.
inline constexpr std::uint64_t kCellLimit = 0xFFFFFFFFULL;

template <typename T>
T load_le(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  return value;
}

template <typename T>
void store_le(std::byte* to, T value) {
  std::memcpy(to, &value, sizeof(T));
}

constexpr std::uint64_t zigzag(std::int64_t value) {
  return (static_cast<std::uint64_t>(value) << 1) ^ static_cast<std::uint64_t>(value >> 63);
}
constexpr std::int64_t unzigzag(std::uint64_t value) {
  return static_cast<std::int64_t>(value >> 1) ^ -static_cast<std::int64_t>(value & 1);
}

// LEB128: 7 bits a byte, least significant first. Needs up to 10 bytes of room; returns the end.
inline std::byte* put_varint(std::byte* to, std::uint64_t value) {
  while (value >= 0x80) {
    *to++ = static_cast<std::byte>(value | 0x80);
    value >>= 7;
  }
  *to++ = static_cast<std::byte>(value);
  return to;
}

// Reads with bounds checks: after a read beyond the end is_ok() is false and all further reads give
// 0.
class ByteReader {
 public:
  explicit ByteReader(std::span<const std::byte> bytes)
      : begin_(bytes.data()), at_(begin_), end_(begin_ + bytes.size()) {}

  bool is_ok() const { return ok_; }
  std::size_t position() const { return static_cast<std::size_t>(at_ - begin_); }
  std::size_t remaining() const { return static_cast<std::size_t>(end_ - at_); }

  std::uint8_t byte() {
    if (at_ == end_) return fail();
    return static_cast<std::uint8_t>(*at_++);
  }
  // Refuses more than 10 bytes, bits beyond the 64th, and values above `limit`.
  std::uint64_t varint(std::uint64_t limit) {
    if (at_ != end_ && static_cast<std::uint8_t>(*at_) < 0x80) {
      const auto value = static_cast<std::uint64_t>(*at_++);
      return value <= limit ? value : fail();
    }
    return long_varint(limit);
  }
  // `count` bytes, or nullptr.
  const std::byte* take(std::size_t count) {
    if (count > remaining()) {
      fail();
      return nullptr;
    }
    const std::byte* taken = at_;
    at_ += count;
    return taken;
  }

 private:
  std::uint8_t fail() {
    ok_ = false;
    at_ = end_;
    return 0;
  }
  std::uint64_t long_varint(std::uint64_t limit) {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      if (at_ == end_) return fail();
      const auto byte = static_cast<std::uint64_t>(*at_++);
      if (shift == 63 && byte > 1) return fail();
      value |= (byte & 0x7F) << shift;
      if (byte < 0x80) return value <= limit ? value : fail();
    }
    return fail();
  }

  const std::byte* begin_;
  const std::byte* at_;
  const std::byte* end_;
  bool ok_ = true;
};

}  // namespace stratalog
