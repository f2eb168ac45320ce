// SPDX-License-Identifier: Apache-2.0
#include "read/read_ahead.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include "base/memory_end.h"

namespace stratalog {

std::span<std::byte> PageBuffer::of(std::size_t bytes) {
  if (bytes > size_) {
    bytes_.reset();
    size_ = 0;
    bytes_.reset(static_cast<std::byte*>(::operator new(bytes, kPage)));
    size_ = bytes;
  }
  return {bytes_.get(), bytes};
}

ReadAhead::ReadAhead(Read read, std::vector<Part> parts, Ahead ahead)
    : read_(std::move(read)), parts_(std::move(parts)) {
  std::uint64_t sum = 0;
  std::uint64_t most = 0;
  for (const Part& part : parts_) {
    sum += part.bytes;
    most = std::max(most, part.bytes);
  }
  if (ahead == Ahead::kNot || sum < kThreadFrom || parts_.size() <= kBuffers) return;
  // Here, so that want of memory is reported where it can be handled.
  for (PageBuffer& buffer : buffers_) (void)buffer.of(most + kRoom);
  try {
    thread_ = std::thread([this] { read_all(); });
  } catch (const std::system_error&) {
    thread_ = std::thread();  // the system has none to give: then without
  }
}

ReadAhead::~ReadAhead() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard guard(mutex_);
    stops_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void ReadAhead::read_all() {
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return stops_ || i < released_ + kBuffers; });
      if (stops_) return;
    }
    std::span<std::byte> buffer;
    Status status = or_no_space("not enough memory to read ahead", [&] {
      buffer = buffers_[i % kBuffers].of(parts_[i].bytes + kRoom);
      return read_(parts_[i].offset, buffer.first(parts_[i].bytes));
    });
    const bool failed = !status.is_ok();
    {
      const std::lock_guard guard(mutex_);
      filled_[i % kBuffers] = buffer;
      if (failed)
        failure_ = std::move(status);
      else
        ++read_count_;
    }
    changed_.notify_all();
    if (failed) return;
  }
}

Result<std::span<std::byte>> ReadAhead::next() {
  const std::size_t i = given_++;
  if (!thread_.joinable()) {
    const std::span<std::byte> buffer = buffers_[0].of(parts_[i].bytes + kRoom);
    STRATALOG_RETURN_IF_ERROR(read_(parts_[i].offset, buffer.first(parts_[i].bytes)));
    return buffer;
  }
  std::unique_lock lock(mutex_);
  released_ = i;  // the parts before
  changed_.notify_all();
  changed_.wait(lock, [&] { return i < read_count_ || !failure_.is_ok(); });
  if (i >= read_count_) return failure_;
  return filled_[i % kBuffers];
}

}  // namespace stratalog
