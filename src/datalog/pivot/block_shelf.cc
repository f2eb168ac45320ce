// SPDX-License-Identifier: Apache-2.0
#include "datalog/pivot/block_shelf.h"

#include <utility>

namespace stratalog {

void BlockShelf::fill(std::deque<std::uint32_t> blocks) {
  const std::lock_guard guard(mutex_);
  blocks_ = std::move(blocks);
}

void BlockShelf::open(Lending lending) {
  const std::lock_guard guard(mutex_);
  lends_ = lending == Lending::kYes;
}

std::optional<std::uint32_t> BlockShelf::take() {
  const std::lock_guard guard(mutex_);
  if (blocks_.empty()) return std::nullopt;
  const std::uint32_t block = blocks_.front();
  blocks_.pop_front();
  return block;
}

void BlockShelf::put_back(std::uint32_t block) {
  const std::lock_guard guard(mutex_);
  blocks_.push_front(block);
}

std::int64_t BlockShelf::close() {
  std::unique_lock lock(mutex_);
  lends_ = false;
  is_back_.wait(lock, [&] { return lent_ == 0; });
  return std::exchange(grown_bytes_, 0);
}

std::optional<std::uint32_t> BlockShelf::borrow() {
  const std::lock_guard guard(mutex_);
  if (!lends_ || blocks_.empty()) return std::nullopt;
  const std::uint32_t block = blocks_.back();
  blocks_.pop_back();
  ++lent_;
  return block;
}

void BlockShelf::give_back(std::uint32_t block, Outcome outcome, std::int64_t grown_bytes) {
  const std::lock_guard guard(mutex_);
  if (outcome == Outcome::kAsBefore) blocks_.push_back(block);
  grown_bytes_ += grown_bytes;
  // Under the lock: the owner may end its run, and itself, as soon as it has it.
  if (--lent_ == 0) is_back_.notify_all();
}

}  // namespace stratalog
