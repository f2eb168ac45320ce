// SPDX-License-Identifier: Apache-2.0
#include "bench/warm_memory.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <new>
#include <system_error>

#include "bench/large_pages.h"

namespace stratalog {
namespace {

// Between two slices that one process alone frees.
constexpr std::chrono::milliseconds kPause{50};

std::uint64_t page_bytes() {
  return static_cast<std::uint64_t>(std::max(::sysconf(_SC_PAGESIZE), 1L));
}

std::uint64_t fair_share(int sharers) {
  const auto pages = static_cast<std::uint64_t>(std::max(::sysconf(_SC_AVPHYS_PAGES), 0L));
  return pages / 4 * 3 / static_cast<std::uint64_t>(std::max(sharers, 1)) * page_bytes();
}

void touch(std::byte* block, std::size_t bytes) {
  const std::size_t page = page_bytes();
  for (std::size_t at = 0; at < bytes; at += page) {
    auto* const touched = static_cast<volatile std::byte*>(block + at);
    *touched = std::byte{1};
  }
}

}  // namespace

void WarmMemory::warm(std::uint64_t now, std::uint64_t later, int sharers) {
  clear();
  const std::uint64_t share = fair_share(sharers);
  LargePages<std::byte> memory;
  try {
    // First what stays longer: what is freed at once should not have waited for it.
    const std::uint64_t slices = std::min(later, share / 3) / kSliceBytes;
    slices_.reserve(slices);
    while (slices_.size() < slices) {
      slices_.push_back(memory.allocate(kSliceBytes));
      touch(slices_.back(), kSliceBytes);
    }
    const std::size_t count = std::min(now, share - slices * kSliceBytes);
    if (count != 0) {
      std::byte* const block = memory.allocate(count);
      touch(block, count);
      memory.deallocate(block, count);
    }
  } catch (const std::bad_alloc&) {
    return clear();  // it will be seen where memory is needed
  }
  if (slices_.empty()) return;
  try {
    thread_ = std::thread([this, pause = kPause * std::max(sharers, 1)] {
      std::unique_lock lock(mutex_);
      while (!slices_.empty() && !changed_.wait_for(lock, pause, [this] { return stops_; }))
        free_slice();
    });
  } catch (const std::system_error&) {
    clear();  // the system has no thread to give
  }
}

void WarmMemory::free_slice() {
  LargePages<std::byte>().deallocate(slices_.back(), kSliceBytes);
  slices_.pop_back();
}

std::uint64_t WarmMemory::held() {
  const std::lock_guard guard(mutex_);
  return slices_.size() * kSliceBytes;
}

void WarmMemory::clear() {
  {
    const std::lock_guard guard(mutex_);
    stops_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
  stops_ = false;
  while (!slices_.empty()) free_slice();
}

}  // namespace stratalog
