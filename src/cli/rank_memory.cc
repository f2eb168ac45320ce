// SPDX-License-Identifier: Apache-2.0
#include "cli/rank_memory.h"

#include <array>
#include <cstddef>
#include <cstdlib>  // which says whether the library is glibc
#include <memory>

#if defined(__GLIBC__)
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>
#endif

namespace stratalog::cli {

#if defined(__GLIBC__)
namespace {

// glibc gives a thread heaps of 64 MiB, which must have room for its own records.
constexpr std::size_t kPieceBytes = std::size_t{15} << 20;
constexpr std::size_t kPieces = 4;
// Larger blocks get a mapping of their own, which goes back to the system with them; smaller ones
// come from the readied room. Free memory at its end stays for the next ones.
constexpr int kOwnMappingBytes = 16 << 20;
constexpr int kKeptBytes = 128 << 20;

void advise_huge_pages(void* begin, std::size_t bytes) {
  // Whole pages only: the first one that begins inside, and as many as end inside.
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  std::size_t room = bytes;
  if (std::align(page, page, begin, room) == nullptr) return;
  // A system without huge pages refuses; nothing is lost.
  (void)::madvise(begin, room / page * page, MADV_HUGEPAGE);
}

}  // namespace

void prepare_rank_memory() {
  ::mallopt(M_MMAP_THRESHOLD, kOwnMappingBytes);
  ::mallopt(M_TRIM_THRESHOLD, kKeptBytes);
  std::array<void*, kPieces> pieces{};
  for (void*& piece : pieces) {
    piece = std::malloc(kPieceBytes);  // NOLINT: it is the allocator that is meant
    if (piece != nullptr) advise_huge_pages(piece, kPieceBytes);
  }
  for (void* piece : pieces) std::free(piece);  // NOLINT
}
#else
void prepare_rank_memory() {}
#endif

}  // namespace stratalog::cli
