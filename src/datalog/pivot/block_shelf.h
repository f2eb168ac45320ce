// SPDX-License-Identifier: Apache-2.0
// BlockShelf: the blocks that a run of a rank has still to sweep. The rank takes them from the
// front; other threads of the process that have none left may borrow from the back, while the run
// lasts. So ranks end together however uneven their blocks are. A block is with one thread at a
// time, and what that did to it is seen by whoever gets it next. Thread-safe.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>

namespace stratalog {

class BlockShelf {
 public:
  // --- The owner's.
  // In place of what was there; nothing is lent yet.
  void fill(std::deque<std::uint32_t> blocks);
  enum class Lending : std::uint8_t { kNo, kYes };
  // A run goes on with what is there.
  void open(Lending lending);
  std::optional<std::uint32_t> take();
  // What was taken last has not been swept after all.
  void put_back(std::uint32_t block);
  // Nothing is lent any more. Returns when all blocks that were are back: by how many bytes those
  // have grown.
  std::int64_t close();

  // --- Other threads'.
  // Nothing where the owner has no block left, or is not at work.
  std::optional<std::uint32_t> borrow();
  enum class Outcome : std::uint8_t { kSwept, kAsBefore };
  void give_back(std::uint32_t block, Outcome outcome, std::int64_t grown_bytes);

 private:
  std::mutex mutex_;
  std::condition_variable is_back_;
  std::deque<std::uint32_t> blocks_;
  bool lends_ = false;
  std::uint32_t lent_ = 0;
  std::int64_t grown_bytes_ = 0;
};

}  // namespace stratalog
