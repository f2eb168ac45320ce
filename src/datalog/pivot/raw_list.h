// SPDX-License-Identifier: Apache-2.0
// RawList: a growable list for inner loops. Unlike std::vector it can be written past its end up to
// the room asked for (branch-free appending), grows without clearing, and puts large arrays on huge
// pages, since the sweep's accesses are scattered and would miss the page tables as often as the
// cache. Local.
#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <type_traits>

namespace stratalog {

template <typename T>
class RawList {
  static_assert(
      std::is_trivially_destructible_v<T>);  // elements are moved as bytes, and zero bytes are one

 public:
  T* data() { return data_.get(); }
  const T* data() const { return data_.get(); }
  T& operator[](std::size_t i) { return data_.get()[i]; }
  const T& operator[](std::size_t i) const { return data_.get()[i]; }
  std::size_t size() const { return size_; }
  bool is_empty() const { return size_ == 0; }
  void clear() { size_ = 0; }
  // Requires size <= what room() was asked for.
  void set_size(std::size_t size) { size_ = size; }
  void push_back(const T& value) {
    room(size_ + 1);
    data_.get()[size_++] = value;
  }
  T* begin() { return data(); }
  T* end() { return data() + size_; }
  const T* begin() const { return data(); }
  const T* end() const { return data() + size_; }
  std::uint64_t memory_bytes() const { return capacity_ * sizeof(T); }

  // Makes room for `count` elements and one more, which may be written but not kept.
  void room(std::size_t count) {
    if (count < capacity_) return;
    reallocate(std::max(count + 1, capacity_ + capacity_ / 2));
  }
  // As many elements as asked for, new ones all zero bits.
  void extend(std::size_t count) {
    if (count <= size_) return;
    if (count > capacity_) reallocate(count);
    std::memset(static_cast<void*>(data() + size_), 0, (count - size_) * sizeof(T));
    size_ = count;
  }

 private:
  static constexpr std::size_t kHugePage = std::size_t{1} << 21;
  struct Free {
    void operator()(T* data) const { std::free(data); }
  };

  void reallocate(std::size_t capacity) {
    std::size_t bytes = capacity * sizeof(T);
    const std::size_t alignment = bytes >= 2 * kHugePage ? kHugePage : 64;
    bytes = (bytes + alignment - 1) / alignment * alignment;
    T* fresh = static_cast<T*>(std::aligned_alloc(alignment, bytes));
    if (alignment == kHugePage) (void)madvise(fresh, bytes, MADV_HUGEPAGE);
    if (size_ != 0)
      std::memcpy(static_cast<void*>(fresh), static_cast<const void*>(data()), size_ * sizeof(T));
    data_.reset(fresh);
    capacity_ = bytes / sizeof(T);
  }

  std::unique_ptr<T, Free> data_;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

}  // namespace stratalog
