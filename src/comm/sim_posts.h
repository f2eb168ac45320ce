// SPDX-License-Identifier: Apache-2.0
// SimPosts: what ranks that are threads of one process have posted to each other and nobody has
// taken yet. Never blocks; who waits for a post does that elsewhere. Thread-safe.
#pragma once

#include <atomic>
#include <deque>
#include <mutex>
#include <optional>
#include <vector>

#include "comm/comm.h"

namespace stratalog {

class SimPosts {
 public:
  explicit SimPosts(int ranks)
      : boxes_(static_cast<std::size_t>(ranks)), under_way_(static_cast<std::size_t>(ranks)) {}

  bool may_post(int from) const { return under_way_[index(from)].load() < kMostPostsUnderWay; }
  void post(int from, int to, Bytes data);
  // The oldest that lies there for `rank`, of any sender or of one.
  std::optional<Post> take(int rank);
  std::optional<Bytes> take_from(int rank, int sender);

 private:
  struct Box {
    std::mutex mutex;
    std::deque<Post> posts;
  };

  static std::size_t index(int rank) { return static_cast<std::size_t>(rank); }

  std::vector<Box> boxes_;  // by receiver
  std::vector<std::atomic<int>> under_way_;  // by sender
};

}  // namespace stratalog
