// SPDX-License-Identifier: Apache-2.0
#include "forecast/collective_write.h"

#include <algorithm>
#include <charconv>
#include <map>

namespace stratalog {
namespace {

std::uint64_t hint(const LayoutPlan& plan, std::string_view name, std::uint64_t otherwise) {
  for (const FileHint& one : plan.hints) {
    if (one.name != name) continue;
    std::uint64_t value = 0;
    std::from_chars(one.value.data(), one.value.data() + one.value.size(), value);
    // cb_nodes 0, as printed for few ranks, is what MPI-IO takes for no hint.
    return value == 0 ? otherwise : value;
  }
  return otherwise;
}

// The ranks that share the files of `rank`: consecutive ones.
struct Group {
  int first = 0;
  int count = 1;
};

Group group_of(const SaveLayout& layout, int rank) {
  const std::vector<std::uint32_t>& files = layout.plan.file_of_rank;
  if (files.empty()) return {.first = 0, .count = layout.facts.ranks};
  const auto range =
      std::equal_range(files.begin(), files.end(), files[static_cast<std::size_t>(rank)]);
  return {.first = static_cast<int>(range.first - files.begin()),
          .count = static_cast<int>(range.second - range.first)};
}

}  // namespace

CollectiveWrite plan_collective_write(std::span<const Transfer> pieces,
                                      std::span<const FileStripes> files, const SaveLayout& layout,
                                      const Machine& machine) {
  CollectiveWrite write;
  std::map<std::uint64_t, std::uint64_t> received;  // by file and aggregator
  // What an aggregator gets of a stripe from neighbouring pieces is one write.
  std::map<std::pair<std::uint32_t, std::uint64_t>, std::vector<Transfer>> stripes;
  for (const Transfer& piece : pieces) {
    const Group group = group_of(layout, piece.rank);
    const FileStripes& about = files[piece.file];
    const std::uint64_t stripe_bytes =
        about.bytes != 0 ? about.bytes : static_cast<std::uint64_t>(machine.default_stripe_bytes);
    const std::uint64_t stripe_count =
        about.count != 0 ? about.count : static_cast<std::uint64_t>(machine.default_stripes);
    const std::uint64_t aggregators = std::min(hint(layout.plan, "cb_nodes", stripe_count),
                                               static_cast<std::uint64_t>(group.count));
    write.aggregators = std::max(write.aggregators, aggregators);
    write.busiest_bytes = std::max(write.busiest_bytes, piece.bytes);
    const std::uint64_t end = piece.offset + piece.bytes;
    for (std::uint64_t at = piece.offset; at < end;) {
      const std::uint64_t stripe = at / stripe_bytes;
      const std::uint64_t stop = std::min(end, (stripe + 1) * stripe_bytes);
      const std::uint64_t aggregator = stripe % aggregators;
      received[(std::uint64_t{piece.file} << 32) | aggregator] += stop - at;
      // Aggregators are spread over the ranks.
      const auto step =
          static_cast<int>(aggregator * static_cast<std::uint64_t>(group.count) / aggregators);
      auto& writes = stripes[{piece.file, stripe}];
      if (!writes.empty() && writes.back().offset + writes.back().bytes == at)
        writes.back().bytes += stop - at;
      else
        writes.push_back(
            {.file = piece.file, .rank = group.first + step, .offset = at, .bytes = stop - at});
      at = stop;
    }
  }
  std::uint64_t most = 0;
  for (const auto& [aggregator, bytes] : received) most = std::max(most, bytes);
  write.busiest_bytes = std::max(write.busiest_bytes, most);
  const std::uint64_t buffer =
      hint(layout.plan, "cb_buffer_size", static_cast<std::uint64_t>(machine.default_buffer_bytes));
  write.messages = (most + buffer - 1) / buffer * static_cast<std::uint64_t>(layout.facts.ranks);
  for (auto& [stripe, writes] : stripes)
    write.transfers.insert(write.transfers.end(), writes.begin(), writes.end());
  return write;
}

}  // namespace stratalog
