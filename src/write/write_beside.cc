// SPDX-License-Identifier: Apache-2.0
#include "write/write_beside.h"

#include <chrono>
#include <system_error>
#include <utility>

#include "base/memory_end.h"

namespace stratalog {

WriteBeside::WriteBeside(Write write, WriteThread thread) : write_(std::move(write)) {
  if (thread == WriteThread::kNone) return;
  try {
    thread_ = std::thread([this] { run(); });
  } catch (const std::system_error&) {
    thread_ = std::thread();  // the system has none to give: then without
  }
}

WriteBeside::~WriteBeside() { (void)finish(); }

void WriteBeside::carry_out(const Piece& piece) {
  const auto start = std::chrono::steady_clock::now();
  Status status =
      or_no_space("not enough memory to write", [&] { return write_(piece.at, piece.bytes); });
  const auto spent = std::chrono::steady_clock::now() - start;
  busy_ns_ += static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(spent).count());
  if (status.is_ok()) return;
  const std::lock_guard guard(mutex_);
  failure_ = std::move(status);
}

void WriteBeside::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return waiting_.has_value() || stops_; });
    if (!waiting_) return;
    const Piece piece = *waiting_;
    waiting_.reset();
    const bool goes_on = failure_.is_ok();
    lock.unlock();
    changed_.notify_all();  // there is room for another one, or the error to be seen
    if (goes_on) carry_out(piece);
    lock.lock();
  }
}

Status WriteBeside::write(std::uint64_t at, std::span<const std::byte> bytes) {
  if (!thread_.joinable()) {
    if (failure_.is_ok()) carry_out({.at = at, .bytes = bytes});
    return failure_;
  }
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !waiting_ || !failure_.is_ok(); });
    if (!failure_.is_ok()) return failure_;
    waiting_ = Piece{.at = at, .bytes = bytes};
  }
  changed_.notify_all();
  return Status::ok();
}

Status WriteBeside::finish() {
  if (thread_.joinable()) {
    {
      const std::lock_guard guard(mutex_);
      stops_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }
  return failure_;
}

}  // namespace stratalog
