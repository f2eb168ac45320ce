// SPDX-License-Identifier: Apache-2.0
// ReadAhead: hands out parts of one file in order while a thread reads the next ones, so that the
// device does not wait for the decoder nor the decoder for the device. A few reused buffers, filled
// front to back. Little is read without a thread. Judges no bytes. Local; used by one thread, and
// the store is not used by anybody else in between.
#pragma once

#include <array>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <new>
#include <span>
#include <thread>
#include <vector>

#include "base/result.h"
#include "base/status.h"

namespace stratalog {

// Memory that is not cleared before it is used, from the beginning of a page on.
class PageBuffer {
 public:
  // What it held is lost where it has to grow.
  std::span<std::byte> of(std::size_t bytes);

 private:
  static constexpr std::align_val_t kPage{4096};
  struct Release {
    void operator()(std::byte* bytes) const { ::operator delete(bytes, kPage); }
  };
  std::unique_ptr<std::byte, Release> bytes_;
  std::size_t size_ = 0;
};

// Whether a thread may read; if not, parts are read as they are asked for.
enum class Ahead : std::uint8_t { kByThread, kNot };

class ReadAhead {
 public:
  struct Part {
    std::uint64_t offset = 0;  // as `Read` takes it
    std::uint64_t bytes = 0;
  };
  // Fills `to` from `offset`. Called from another thread, one call at a time.
  using Read = std::function<Status(std::uint64_t offset, std::span<std::byte> to)>;
  // Behind each part there is room for so many bytes more, of any value.
  static constexpr std::size_t kRoom = 256;

  ReadAhead(Read read, std::vector<Part> parts, Ahead ahead = Ahead::kByThread);
  ReadAhead(const ReadAhead&) = delete;
  ReadAhead& operator=(const ReadAhead&) = delete;
  ~ReadAhead();

  // The next part and its room, valid until the next call; the error of reading it. Requires one.
  Result<std::span<std::byte>> next();

 private:
  static constexpr std::size_t kBuffers = 4;
  static constexpr std::uint64_t kThreadFrom = std::uint64_t{8} << 20;

  void read_all();

  Read read_;
  std::vector<Part> parts_;
  std::array<PageBuffer, kBuffers> buffers_;
  std::array<std::span<std::byte>, kBuffers> filled_;
  std::size_t given_ = 0;  // by next()
  std::thread thread_;
  std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_ where there is a thread.
  std::size_t read_count_ = 0;
  std::size_t released_ = 0;
  Status failure_;  // of part read_count_
  bool stops_ = false;
};

}  // namespace stratalog
