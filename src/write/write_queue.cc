// SPDX-License-Identifier: Apache-2.0
#include "write/write_queue.h"

#include <algorithm>
#include <chrono>
#include <system_error>
#include <utility>

#include "base/memory_end.h"

namespace stratalog {
namespace {

std::uint64_t queue_clock_ns() {
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                        std::chrono::steady_clock::now().time_since_epoch())
                                        .count());
}

}  // namespace

WriteQueue::~WriteQueue() { (void)finish(); }

void WriteQueue::start(std::uint64_t most_bytes) {
  most_bytes_ = most_bytes;
  is_done_.store(false);
  try {
    thread_ = std::thread([this] { run(); });
  } catch (const std::system_error&) {
    is_done_.store(true);  // the system has none to give: then without
  }
}

Status WriteQueue::carry_out(const Operation& operation) {
  const std::uint64_t start = queue_clock_ns();
  Status status = or_no_space("not enough memory to write a file", [&] {
    return operation.write ? operation.write(operation.bytes) : operation.sync();
  });
  (operation.write ? write_ns_ : sync_ns_) += queue_clock_ns() - start;
  return status;
}

void WriteQueue::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return !waiting_.empty() || is_closed_; });
    if (waiting_.empty()) break;
    Operation operation = std::move(waiting_.front());
    waiting_.pop_front();
    const bool goes_on = failure_.is_ok();
    lock.unlock();
    Status status = goes_on ? carry_out(operation) : Status::ok();
    const std::size_t bytes = operation.bytes.size();
    operation = {};  // files are closed here, not under the lock
    lock.lock();
    held_bytes_ -= bytes;
    if (goes_on) failure_ = std::move(status);
    changed_.notify_all();  // there is room, or an error to be seen
  }
  done_at_ns_ = queue_clock_ns();
  is_done_.store(true);
}

// Waits until there is room for so many bytes, and takes it.
Status WriteQueue::reserve(std::size_t bytes) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] {
    return !failure_.is_ok() || held_bytes_ == 0 || held_bytes_ + bytes <= most_bytes_;
  });
  if (!failure_.is_ok()) return failure_;
  held_bytes_ += bytes;
  peak_bytes_ = std::max(peak_bytes_, held_bytes_);
  return Status::ok();
}

// What make() gives, of so many bytes.
template <typename Make>
Status WriteQueue::push(std::size_t bytes, Make&& make) {
  STRATALOG_RETURN_IF_ERROR(reserve(bytes));
  Status pushed = or_no_space("not enough memory for what waits to be written", [&]() -> Status {
    Operation operation = make();
    const std::lock_guard guard(mutex_);
    waiting_.push_back(std::move(operation));
    return {};
  });
  const std::lock_guard guard(mutex_);
  if (!pushed.is_ok()) {
    held_bytes_ -= bytes;
    if (failure_.is_ok()) failure_ = pushed;
  }
  changed_.notify_all();
  return pushed;
}

Status WriteQueue::add(std::span<const std::byte> bytes, Write write) {
  if (has_thread())
    return push(bytes.size(), [&]() -> Operation {
      return {.bytes = {bytes.begin(), bytes.end()}, .write = std::move(write), .sync = {}};
    });
  if (failure_.is_ok())
    failure_ = or_no_space("not enough memory to write a file", [&] { return write(bytes); });
  return failure_;
}

Status WriteQueue::add(Sync sync) {
  if (has_thread())
    return push(0,
                [&]() -> Operation { return {.bytes = {}, .write = {}, .sync = std::move(sync)}; });
  if (failure_.is_ok()) failure_ = or_no_space("not enough memory to write a file", sync);
  return failure_;
}

void WriteQueue::close() {
  if (!has_thread()) return;
  const std::lock_guard guard(mutex_);
  is_closed_ = true;
  changed_.notify_all();
}

Status WriteQueue::finish() {
  close();
  if (has_thread()) thread_.join();
  return failure_;
}

}  // namespace stratalog
