// SPDX-License-Identifier: Apache-2.0
#include "comm/sim_posts.h"

#include <algorithm>
#include <utility>

namespace stratalog {

void SimPosts::post(int from, int to, Bytes data) {
  under_way_[index(from)].fetch_add(1);
  Box& box = boxes_[index(to)];
  const std::lock_guard guard(box.mutex);
  box.posts.push_back({.sender = from, .data = std::move(data)});
}

std::optional<Post> SimPosts::take(int rank) {
  Box& box = boxes_[index(rank)];
  const std::lock_guard guard(box.mutex);
  if (box.posts.empty()) return std::nullopt;
  std::optional<Post> post = std::move(box.posts.front());
  box.posts.pop_front();
  under_way_[index(post->sender)].fetch_sub(1);
  return post;
}

std::optional<Bytes> SimPosts::take_from(int rank, int sender) {
  Box& box = boxes_[index(rank)];
  const std::lock_guard guard(box.mutex);
  const auto found = std::ranges::find(box.posts, sender, &Post::sender);
  if (found == box.posts.end()) return std::nullopt;
  std::optional<Bytes> data = std::move(found->data);
  box.posts.erase(found);
  under_way_[index(sender)].fetch_sub(1);
  return data;
}

}  // namespace stratalog
