// SPDX-License-Identifier: Apache-2.0
// Memory that ends where a test says so: replaces the operators new of the program, and what grows
// blocks in place. Include in exactly one file per program. Threads, which are ranks, each have
// memory of their own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <new>

namespace stratalog {

struct MemoryEnd {
  std::size_t bytes = std::numeric_limits<std::size_t>::max();  // requests below this are granted
  std::uint64_t granted = 0;  // of the others the first so many
  std::uint64_t refused = std::numeric_limits<std::uint64_t>::max();  // and after these all again
};

inline thread_local MemoryEnd memory_end_of_thread;

inline bool is_memory_refused(std::size_t bytes) {
  MemoryEnd& end = memory_end_of_thread;
  if (bytes < end.bytes) return false;
  if (end.granted > 0) {
    --end.granted;
    return false;
  }
  if (end.refused == 0) return false;
  --end.refused;
  return true;
}

// Of this thread, while it lives.
class FailingMemory {
 public:
  explicit FailingMemory(const MemoryEnd& end) { memory_end_of_thread = end; }
  FailingMemory(const FailingMemory&) = delete;
  FailingMemory& operator=(const FailingMemory&) = delete;
  ~FailingMemory() { memory_end_of_thread = {}; }
};

}  // namespace stratalog

// Inlined, the compiler would find that malloc and free are no pair of new and delete.
[[gnu::noinline]] void* operator new(std::size_t bytes) {
  void* const found = stratalog::is_memory_refused(bytes) ? nullptr : std::malloc(bytes);
  if (found == nullptr) throw std::bad_alloc();
  return found;
}
[[gnu::noinline]] void* operator new[](std::size_t bytes) { return operator new(bytes); }
// AddressSanitizer has one of its own, whose blocks must not come to free().
[[gnu::noinline]] void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  return stratalog::is_memory_refused(bytes) ? nullptr : std::malloc(bytes);
}
[[gnu::noinline]] void* operator new[](std::size_t bytes, const std::nothrow_t& nothrow) noexcept {
  return operator new(bytes, nothrow);
}
[[gnu::noinline]] void* operator new(std::size_t bytes, std::align_val_t alignment) {
  const auto unit = static_cast<std::size_t>(alignment);
  void* const found = stratalog::is_memory_refused(bytes)
                          ? nullptr
                          : std::aligned_alloc(unit, (bytes + unit - 1) / unit * unit);
  if (found == nullptr) throw std::bad_alloc();
  return found;
}
[[gnu::noinline]] void* operator new[](std::size_t bytes, std::align_val_t alignment) {
  return operator new(bytes, alignment);
}
[[gnu::noinline]] void operator delete(void* block) noexcept { std::free(block); }
[[gnu::noinline]] void operator delete[](void* block) noexcept { std::free(block); }
[[gnu::noinline]] void operator delete(void* block, std::size_t) noexcept { std::free(block); }
[[gnu::noinline]] void operator delete[](void* block, std::size_t) noexcept { std::free(block); }
[[gnu::noinline]] void operator delete(void* block, std::align_val_t) noexcept { std::free(block); }
[[gnu::noinline]] void operator delete[](void* block, std::align_val_t) noexcept {
  std::free(block);
}
[[gnu::noinline]] void operator delete(void* block, std::size_t, std::align_val_t) noexcept {
  std::free(block);
}
[[gnu::noinline]] void operator delete[](void* block, std::size_t, std::align_val_t) noexcept {
  std::free(block);
}

#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
extern "C" void* __libc_realloc(void* block, std::size_t bytes);  // NOLINT: the library's name
extern "C" void* realloc(void* block, std::size_t bytes) noexcept {
  return stratalog::is_memory_refused(bytes) ? nullptr : __libc_realloc(block, bytes);
}
inline constexpr bool kReallocFails = true;
#else
inline constexpr bool kReallocFails = false;
#endif
