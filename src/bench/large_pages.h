// SPDX-License-Identifier: Apache-2.0
// LargePages: an allocator whose large blocks ask the kernel for huge pages. A benchmark takes
// hundreds of MB into fresh memory; by pages of 4 KiB their first touch costs more than everything
// else that happens to a tuple. Local.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <new>

namespace stratalog {

template <typename T>
class LargePages {
 public:
  using value_type = T;

  LargePages() = default;
  template <typename Other>
  explicit LargePages(const LargePages<Other>& /*other*/) {}

  // May throw std::bad_alloc, as containers expect.
  T* allocate(std::size_t count) {
    const std::size_t bytes = count * sizeof(T);
    void* const fresh = ::operator new(bytes, alignment(bytes));
    // A kernel without huge pages says no; then it is small ones.
    if (bytes >= kWorth) (void)::madvise(fresh, bytes, MADV_HUGEPAGE);
    return static_cast<T*>(fresh);
  }
  void deallocate(T* block, std::size_t count) {
    ::operator delete(block, alignment(count * sizeof(T)));
  }
  friend bool operator==(const LargePages& /*one*/, const LargePages& /*other*/) { return true; }

 private:
  static constexpr std::size_t kHugePage = std::size_t{2} << 20;
  static constexpr std::size_t kWorth = 2 * kHugePage;

  static std::align_val_t alignment(std::size_t bytes) {
    return std::align_val_t{bytes >= kWorth ? kHugePage : alignof(std::max_align_t)};
  }
};

}  // namespace stratalog
