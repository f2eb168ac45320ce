// SPDX-License-Identifier: Apache-2.0
#include "encode/shuffled_chunk.h"

#include <fmt/format.h>

#include "encode/byte_order.h"

namespace stratalog {
namespace {

constexpr std::size_t kNumberBytes = 4;

void shuffle(std::span<const std::uint32_t> numbers, std::byte* to) {
  const std::size_t count = numbers.size();
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t number = numbers[i];
    to[i] = static_cast<std::byte>(number);
    to[count + i] = static_cast<std::byte>(number >> 8);
    to[(2 * count) + i] = static_cast<std::byte>(number >> 16);
    to[(3 * count) + i] = static_cast<std::byte>(number >> 24);
  }
}

void unshuffle(const std::byte* from, std::span<std::uint32_t> numbers) {
  const std::size_t count = numbers.size();
  const auto byte = [from](std::size_t at) { return std::to_integer<std::uint32_t>(from[at]); };
  for (std::size_t i = 0; i < count; ++i)
    numbers[i] = byte(i) | (byte(count + i) << 8) | (byte((2 * count) + i) << 16) |
                 (byte((3 * count) + i) << 24);
}

}  // namespace

ChunkDeflater::ChunkDeflater(int level) {
  if (level != 0) deflater_.emplace(level);
}

std::size_t ChunkDeflater::append(std::span<const std::uint32_t> chunk,
                                  std::vector<std::byte>& to) {
  const std::size_t raw = chunk.size() * kNumberBytes;
  const std::size_t begin = to.size();
  to.resize(begin + raw);
  if (deflater_.has_value() && raw != 0) {
    shuffled_.resize(raw);
    shuffle(chunk, shuffled_.data());
    const std::size_t stored = deflater_->deflate(shuffled_, std::span(to).subspan(begin, raw - 1));
    if (stored != 0) {
      to.resize(begin + stored);
      return stored;
    }
  }
  for (std::size_t i = 0; i < chunk.size(); ++i)
    store_le<std::uint32_t>(to.data() + begin + (i * kNumberBytes), chunk[i]);
  return raw;
}

Status ChunkInflater::inflate(std::span<const std::byte> stored, std::span<std::uint32_t> chunk) {
  const std::size_t raw = chunk.size() * kNumberBytes;
  if (stored.size() > raw)
    return Status::corruption(
        fmt::format("{} bytes are more than {} numbers take", stored.size(), chunk.size()));
  if (stored.size() == raw) {
    for (std::size_t i = 0; i < chunk.size(); ++i)
      chunk[i] = load_le<std::uint32_t>(stored.data() + (i * kNumberBytes));
    return Status::ok();
  }
  shuffled_.resize(raw);
  STRATALOG_RETURN_IF_ERROR(inflater_.inflate(stored, shuffled_));
  unshuffle(shuffled_.data(), chunk);
  return Status::ok();
}

}  // namespace stratalog
