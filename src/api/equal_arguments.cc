// SPDX-License-Identifier: Apache-2.0
#include "api/equal_arguments.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <limits>

namespace stratalog {
namespace {

// What a rank has against a call; the greatest counts.
constexpr std::uint64_t kNoObjection = 0;
constexpr std::uint64_t kError = 1;
constexpr std::uint64_t kRefusal = 2;

}  // namespace

void EqualArguments::add(const char* name, std::string_view value) {
  if (comm_.size() == 1) return;
  arguments_.push_back({.name = name, .hash = XXH3_64bits(value.data(), value.size())});
}

void EqualArguments::add(const char* name, std::span<const std::string> values) {
  if (comm_.size() == 1) return;
  std::uint64_t hash = values.size();
  for (const std::string& value : values)
    hash = XXH3_64bits_withSeed(value.data(), value.size(), hash);
  arguments_.push_back({.name = name, .hash = hash});
}

Status EqualArguments::check(const Status& mine) {
  return compare(mine.is_ok() ? kNoObjection : kError, mine);
}

Status EqualArguments::refuse(const Status& why) { return compare(kRefusal, why); }

Status EqualArguments::compare(std::uint64_t objection, const Status& mine) {
  if (comm_.size() == 1) return mine;
  // The greatest hash and, turned round, the least one: equal where all are.
  std::vector<std::uint64_t> most = {objection};
  for (const Argument& argument : arguments_) {
    most.push_back(argument.hash);
    most.push_back(~argument.hash);
  }
  const Status reduced = comm_.allreduce(most, ReduceOp::kMax);
  // Without a working group there is no agreement: my own error says more than the group's.
  if (!reduced.is_ok()) return mine.is_ok() ? reduced : mine;
  // A mere error comes behind the differences, which may be its reason.
  if (most[0] == kRefusal) return agree(comm_, objection == kRefusal ? mine : Status::ok());
  for (std::size_t a = 0; a < arguments_.size(); ++a)
    if (most[(2 * a) + 1] != ~most[(2 * a) + 2]) return tell_difference(arguments_[a]);
  return most[0] == kNoObjection ? Status::ok() : agree(comm_, mine);
}

Status EqualArguments::tell_difference(const Argument& argument) {
  std::uint64_t first = comm_.rank() == 0 ? argument.hash : 0;
  STRATALOG_RETURN_IF_ERROR(comm_.allreduce(std::span(&first, 1), ReduceOp::kSum));
  std::uint64_t other = argument.hash == first ? std::numeric_limits<std::uint64_t>::max()
                                               : static_cast<std::uint64_t>(comm_.rank());
  STRATALOG_RETURN_IF_ERROR(comm_.allreduce(std::span(&other, 1), ReduceOp::kMin));
  return Status::ranks_disagree(fmt::format(
      "rank {} gave another {} than rank 0; all ranks must make the same calls with the "
      "same arguments, tuples excepted",
      other, argument.name));
}

}  // namespace stratalog
