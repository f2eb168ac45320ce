// SPDX-License-Identifier: Apache-2.0
// WriteQueue: operations on files that are being made, carried out one after the other in the order
// in which they were added: at once, or by a thread while their owner makes the next bytes or does
// something else. The queue then holds the bytes that wait, at most so many; who adds more waits
// until there is room. After an error nothing more is carried out, so a store sees the same
// operations either way. Used by one thread; local.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "base/status.h"

namespace stratalog {

class WriteQueue {
 public:
  using Write = std::function<Status(std::span<const std::byte> bytes)>;
  using Sync = std::function<Status()>;

  WriteQueue() = default;
  WriteQueue(const WriteQueue&) = delete;
  WriteQueue& operator=(const WriteQueue&) = delete;
  ~WriteQueue();  // carries out what was added

  // From now on a thread carries out what is added, and up to `most_bytes` bytes wait for it (any
  // number of them in one piece if nothing else does). Where the system has no thread to give,
  // everything goes on as before. Before the first operation.
  void start(std::uint64_t most_bytes);
  bool has_thread() const { return thread_.joinable(); }

  // Bytes to be written, of which the queue makes a copy if they have to wait, and what is done
  // when all has been written. The error of this operation or of an earlier one, once it is known;
  // NoSpace where there is no memory for it.
  Status add(std::span<const std::byte> bytes, Write write);
  Status add(Sync sync);
  // Nothing more will be added. Does not wait.
  void close();
  // Whether finish() would not have to wait.
  bool is_done() const { return is_done_.load(); }
  // Closes, and waits until all has been carried out. The first error.
  Status finish();

  // After finish(): how long the thread took for writing and for the rest, when it was done (by the
  // steady clock), and the largest number of bytes that waited.
  std::uint64_t write_ns() const { return write_ns_; }
  std::uint64_t sync_ns() const { return sync_ns_; }
  std::uint64_t done_at_ns() const { return done_at_ns_; }
  std::uint64_t peak_bytes() const { return peak_bytes_; }

 private:
  struct Operation {
    std::vector<std::byte> bytes;
    Write write;  // or
    Sync sync;
  };
  template <typename Make>
  Status push(std::size_t bytes, Make&& make);
  Status reserve(std::size_t bytes);
  void run();
  Status carry_out(const Operation& operation);

  std::thread thread_;
  std::uint64_t most_bytes_ = 0;
  std::atomic<bool> is_done_ = true;
  // Of the thread, and of all others after finish().
  std::uint64_t write_ns_ = 0;
  std::uint64_t sync_ns_ = 0;
  std::uint64_t done_at_ns_ = 0;
  std::uint64_t peak_bytes_ = 0;
  std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_ where there is a thread.
  std::deque<Operation> waiting_;
  std::uint64_t held_bytes_ = 0;  // of what waits and of what is being written
  bool is_closed_ = false;
  Status failure_;
};

}  // namespace stratalog
