// SPDX-License-Identifier: Apache-2.0
// WriteBeside: writes of one file carried out one after the other by a thread, while their owner
// makes the next bytes. The order is that of the calls, and after an error nothing more is written,
// so a store sees the same operations as without the thread. Local; used by one thread, and nobody
// else uses what `Write` writes to before finish().
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <thread>

#include "base/status.h"

namespace stratalog {

enum class WriteThread : std::uint8_t { kNone, kOwn };

// A thread pays where a core has nothing else to do (with a rank on every core it takes as much as
// it gives) and where there is more than a few writes. Pure.
constexpr WriteThread plan_write_thread(std::uint64_t bytes, std::uint32_t ranks_on_node,
                                        std::uint32_t cores) {
  constexpr std::uint64_t kWorth = std::uint64_t{4} << 20;
  return bytes >= kWorth && cores > ranks_on_node ? WriteThread::kOwn : WriteThread::kNone;
}

class WriteBeside {
 public:
  using Write = std::function<Status(std::uint64_t at, std::span<const std::byte> bytes)>;

  // Without a thread each call writes before it returns, and one buffer is enough.
  WriteBeside(Write write, WriteThread thread);
  WriteBeside(const WriteBeside&) = delete;
  WriteBeside& operator=(const WriteBeside&) = delete;
  ~WriteBeside();

  // Hands bytes over, which stay as they are until buffers() - 1 more calls or finish() have
  // returned. The error of an earlier write, or of this one where there is no thread.
  Status write(std::uint64_t at, std::span<const std::byte> bytes);
  // That the owner needs: one is filled, one waits, one is written.
  std::uint32_t buffers() const { return thread_.joinable() ? 3 : 1; }
  // All has been written, or the first error. Nothing may follow.
  Status finish();
  // After finish(): how long writing took.
  std::uint64_t busy_ns() const { return busy_ns_; }

 private:
  struct Piece {
    std::uint64_t at = 0;
    std::span<const std::byte> bytes;
  };
  void run();
  void carry_out(const Piece& piece);

  Write write_;
  std::thread thread_;
  std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_ where there is a thread.
  std::optional<Piece> waiting_;
  bool stops_ = false;
  Status failure_;
  std::uint64_t busy_ns_ = 0;
};

}  // namespace stratalog
