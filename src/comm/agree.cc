// SPDX-License-Identifier: Apache-2.0
// The collective verdict. One allreduce finds the worst code and, among the ranks that have it, the
// lowest; only if that is an error does its owner broadcast the sentence. An OK therefore costs one
// small collective.
#include <fmt/format.h>

#include <cctype>
#include <cstring>

#include "comm/comm.h"

namespace stratalog {
namespace {

// A verdict that already went through agree() names its rank; agreeing on it again must not stack
// prefixes.
bool names_a_rank(std::string_view message) {
  constexpr std::string_view kPrefix = "rank ";
  if (!message.starts_with(kPrefix)) return false;
  std::size_t at = kPrefix.size();
  while (at < message.size() && std::isdigit(static_cast<unsigned char>(message[at])) != 0) ++at;
  return at > kPrefix.size() && message.substr(at).starts_with(": ");
}

}  // namespace

Status agree(Comm& comm, const Status& mine) {
  if (comm.size() == 1) return mine;
  constexpr std::uint64_t kRankMask = 0xffffffffU;
  std::uint64_t key = 0;
  if (!mine.is_ok())
    key = (static_cast<std::uint64_t>(mine.code()) << 32U) |
          (kRankMask - static_cast<std::uint64_t>(comm.rank()));
  const Status reduced = comm.allreduce(std::span(&key, 1), ReduceOp::kMax);
  // Without a working group there is no agreement: my own error says more than the group's.
  if (!reduced.is_ok()) return mine.is_ok() ? reduced : mine;
  if (key == 0) return Status::ok();

  const auto code = static_cast<StatusCode>(key >> 32U);
  const int owner = static_cast<int>(kRankMask - (key & kRankMask));
  Bytes text;
  if (comm.rank() == owner) {
    text.resize(mine.message().size());
    if (!text.empty()) std::memcpy(text.data(), mine.message().data(), text.size());
  }
  const Status told = comm.broadcast(text, owner);
  if (!told.is_ok()) return mine.is_ok() ? told : mine;
  std::string message(text.size(), '\0');
  if (!text.empty()) std::memcpy(message.data(), text.data(), text.size());
  if (!names_a_rank(message)) message = fmt::format("rank {}: {}", owner, message);
  return {code, std::move(message)};
}

}  // namespace stratalog
