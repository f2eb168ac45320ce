// SPDX-License-Identifier: Apache-2.0
#include "encode/zlib_buffer.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <optional>
#include <vector>

#ifdef STRATALOG_HAS_LIBDEFLATE
#include <libdeflate.h>
#endif

namespace stratalog {
namespace {

// Runs are cut to multiples of it, so that few lengths occur.
constexpr std::size_t kRunStep = 16 << 10;
// No container of chunks makes runs of so many lengths and values again and again.
constexpr std::size_t kMostRuns = 64;
constexpr std::size_t kHeadBytes = 2;
constexpr std::size_t kSumBytes = 4;
constexpr int kRawWindow = -15;  // deflate's blocks alone, without head and sum

void set_buffers(z_stream& stream, std::span<const std::byte> from, std::span<std::byte> to) {
  // zlib's own declaration lacks the const.
  stream.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(from.data()));
  stream.avail_in = static_cast<uInt>(from.size());
  stream.next_out = reinterpret_cast<Bytef*>(to.data());
  stream.avail_out = static_cast<uInt>(to.size());
}

uLong sum_of(std::span<const std::byte> bytes) {
#ifdef STRATALOG_HAS_LIBDEFLATE
  return libdeflate_adler32(1, bytes.data(), bytes.size());  // 1 is the sum of nothing
#else
  return ::adler32(1, reinterpret_cast<const Bytef*>(bytes.data()),
                   static_cast<uInt>(bytes.size()));
#endif
}

// How many bytes at the end are equal to the last one.
std::size_t run_at_end(std::span<const std::byte> bytes) {
  if (bytes.empty()) return 0;
  constexpr std::size_t kStride = 64;
  std::array<std::byte, kStride> alike;
  alike.fill(bytes.back());
  std::size_t begin = bytes.size();
  while (begin >= kStride &&
         std::memcmp(bytes.data() + begin - kStride, alike.data(), kStride) == 0)
    begin -= kStride;
  while (begin > 0 && bytes[begin - 1] == bytes.back()) --begin;
  return bytes.size() - begin;
}

// Blocks of deflate, by zlib.
class RawDeflater {
 public:
  explicit RawDeflater(int level) {
    constexpr int kMemory = 8;  // zlib's default
    // Without memory for it, it is a stream that cannot be reset.
    (void)deflateInit2(&stream_, level, Z_DEFLATED, kRawWindow, kMemory, Z_DEFAULT_STRATEGY);
  }
  ~RawDeflater() { deflateEnd(&stream_); }
  RawDeflater(const RawDeflater&) = delete;
  RawDeflater& operator=(const RawDeflater&) = delete;

  enum class End : std::uint8_t { kOfStream, kAtByte };
  // Bytes written to `to`; 0 where the blocks do not fit there, or without memory. kAtByte: others
  // may follow.
  std::size_t deflate(std::span<const std::byte> from, std::span<std::byte> to, End end) {
    if (deflateReset(&stream_) != Z_OK) return 0;
    set_buffers(stream_, from, to);
    const int code = ::deflate(&stream_, end == End::kOfStream ? Z_FINISH : Z_SYNC_FLUSH);
    const bool is_whole =
        end == End::kOfStream ? code == Z_STREAM_END : code == Z_OK && stream_.avail_out != 0;
    return is_whole ? stream_.total_out : 0;
  }

 private:
  z_stream stream_{};
};

// Equal bytes as the last blocks of a stream.
struct Run {
  std::byte value{};
  std::size_t count = 0;
  uLong sum = 0;
  std::vector<std::byte> blocks;
};

// At level 1 matches do not overlap themselves, which zlib inflates in a third of the time. Without
// memory there are no blocks.
Run deflated_run(std::byte value, std::size_t count) {
  const std::vector<std::byte> bytes(count, value);
  Run run{.value = value, .count = count, .sum = sum_of(bytes)};
  run.blocks.resize(::compressBound(count));
  RawDeflater deflater(Z_BEST_SPEED);
  run.blocks.resize(deflater.deflate(bytes, run.blocks, RawDeflater::End::kOfStream));
  run.blocks.shrink_to_fit();
  return run;
}

// zlib streams by zlib, which takes most of its time for runs: those at the end, where shuffled
// small numbers have three quarters of theirs, are deflated once for all.
class RunDeflater {
 public:
  explicit RunDeflater(int level) : deflater_(level) {}

  std::size_t deflate(std::span<const std::byte> from, std::span<std::byte> to) {
    const std::size_t count = run_at_end(from) / kRunStep * kRunStep;
    const Run* const run = count == 0 ? nullptr : &run_of(from.back(), count);
    if (run != nullptr && run->blocks.empty()) return 0;
    const std::size_t run_bytes = run == nullptr ? 0 : run->blocks.size();
    if (to.size() < kHeadBytes + run_bytes + kSumBytes) return 0;
    const auto rest = from.first(from.size() - count);
    uLong sum = sum_of(rest);
    to[0] = std::byte{0x78};  // deflate with a window of 32 KiB
    to[1] = std::byte{0x01};  // and, with the byte before, a multiple of 31
    std::size_t at = kHeadBytes;
    if (run == nullptr || !rest.empty()) {
      const std::size_t written = deflater_.deflate(
          rest, to.subspan(at, to.size() - at - run_bytes - kSumBytes),
          run == nullptr ? RawDeflater::End::kOfStream : RawDeflater::End::kAtByte);
      if (written == 0) return 0;
      at += written;
    }
    if (run != nullptr) {
      std::ranges::copy(run->blocks, to.begin() + static_cast<std::ptrdiff_t>(at));
      at += run_bytes;
      sum = ::adler32_combine(sum, run->sum, static_cast<z_off_t>(count));
    }
    for (std::size_t i = 0; i < kSumBytes; ++i)  // the highest byte first
      to[at + i] = static_cast<std::byte>(sum >> (8 * (kSumBytes - 1 - i)));
    return at + kSumBytes;
  }

 private:
  const Run& run_of(std::byte value, std::size_t count) {
    const auto known = std::ranges::find_if(
        runs_, [&](const Run& run) { return run.value == value && run.count == count; });
    if (known != runs_.end()) return *known;
    if (runs_.size() == kMostRuns) runs_.clear();
    return runs_.emplace_back(deflated_run(value, count));
  }

  RawDeflater deflater_;
  std::vector<Run> runs_;
};

}  // namespace

struct ZlibDeflater::Tables {
  std::optional<RunDeflater> zlib;
#ifdef STRATALOG_HAS_LIBDEFLATE
  struct Free {
    void operator()(libdeflate_compressor* it) const { libdeflate_free_compressor(it); }
  };
  std::unique_ptr<libdeflate_compressor, Free> libdeflate;
#endif
};

ZlibDeflater::ZlibDeflater(int level) : tables_(std::make_unique<Tables>()) {
#ifdef STRATALOG_HAS_LIBDEFLATE
  if (level > 1) {
    tables_->libdeflate.reset(libdeflate_alloc_compressor(level));
    return;
  }
#endif
  tables_->zlib.emplace(level);
}

std::size_t ZlibDeflater::deflate(std::span<const std::byte> from, std::span<std::byte> to) {
#ifdef STRATALOG_HAS_LIBDEFLATE
  if (tables_->libdeflate != nullptr)
    return libdeflate_zlib_compress(tables_->libdeflate.get(), from.data(), from.size(), to.data(),
                                    to.size());
#endif
  return tables_->zlib.has_value() ? tables_->zlib->deflate(from, to) : 0;
}

namespace {

Status no_memory() {
  return Status::no_space("no memory for the tables that inflating a zlib stream takes");
}

Status damaged(std::span<const std::byte> from, std::span<std::byte> to) {
  return Status::corruption(fmt::format("a zlib stream of {} bytes does not inflate to {} bytes",
                                        from.size(), to.size()));
}

}  // namespace

#ifdef STRATALOG_HAS_LIBDEFLATE

struct ZlibInflater::Tables {
  struct Free {
    void operator()(libdeflate_decompressor* it) const { libdeflate_free_decompressor(it); }
  };
  std::unique_ptr<libdeflate_decompressor, Free> libdeflate{libdeflate_alloc_decompressor()};
};

ZlibInflater::ZlibInflater() : tables_(std::make_unique<Tables>()) {}

Status ZlibInflater::inflate(std::span<const std::byte> from, std::span<std::byte> to) {
  if (tables_->libdeflate == nullptr) return no_memory();
  std::size_t read = 0;
  // Without a place for the number of bytes written, only exactly so many are a success.
  const bool is_whole =
      libdeflate_zlib_decompress_ex(tables_->libdeflate.get(), from.data(), from.size(), to.data(),
                                    to.size(), &read, nullptr) == LIBDEFLATE_SUCCESS &&
      read == from.size();
  return is_whole ? Status::ok() : damaged(from, to);
}

#else

struct ZlibInflater::Tables {
  // Without memory for it, it is a stream that cannot be reset.
  Tables() { (void)inflateInit(&stream); }
  ~Tables() { inflateEnd(&stream); }
  Tables(const Tables&) = delete;
  Tables& operator=(const Tables&) = delete;

  z_stream stream{};
};

ZlibInflater::ZlibInflater() : tables_(std::make_unique<Tables>()) {}

Status ZlibInflater::inflate(std::span<const std::byte> from, std::span<std::byte> to) {
  z_stream& stream = tables_->stream;
  if (inflateReset(&stream) != Z_OK) return no_memory();
  set_buffers(stream, from, to);
  const int code = ::inflate(&stream, Z_FINISH);
  if (code == Z_MEM_ERROR) return no_memory();
  const bool is_whole = code == Z_STREAM_END && stream.avail_in == 0 && stream.avail_out == 0;
  return is_whole ? Status::ok() : damaged(from, to);
}

#endif

ZlibDeflater::~ZlibDeflater() = default;
ZlibDeflater::ZlibDeflater(ZlibDeflater&&) noexcept = default;
ZlibDeflater& ZlibDeflater::operator=(ZlibDeflater&&) noexcept = default;
ZlibInflater::~ZlibInflater() = default;
ZlibInflater::ZlibInflater(ZlibInflater&&) noexcept = default;
ZlibInflater& ZlibInflater::operator=(ZlibInflater&&) noexcept = default;

}  // namespace stratalog
