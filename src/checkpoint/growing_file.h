// SPDX-License-Identifier: Apache-2.0
// GrowingFile: a file to which all ranks of a group append bytes of which nobody knows beforehand
// how many they will be. It grows in rounds: each rank stages some, all exchange sizes, offsets
// follow by prefix sum (place/shared_layout.h), all write. Ranks that are done or have nothing take
// part with zero bytes until everybody is; an error on one rank ends the rounds for all. Where no
// two ranks may write in one block or stripe (LayoutPlan::edge_alignment), what a rank has of one
// that another rank's bytes begin in goes there first (place/write_edges.h): so that the less each
// rank has, the fewer write. Collective.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "checkpoint/save_plan.h"

namespace stratalog {

class GrowingFile {
 public:
  using Write = std::function<Status(std::uint64_t offset, std::span<const std::byte> bytes)>;
  // Until all ranks are done.
  enum class RankState : std::uint64_t { kGoesOn = 0, kDone = 1, kFailed = 2 };

  // `begin`: where earlier bytes end. `write` is called in every round, also for no bytes.
  GrowingFile(const SaveContext& context, std::uint64_t begin, Write write, LocalOutput& out)
      : comm_(context.comm),
        layout_(context.layout),
        write_(std::move(write)),
        out_(out),
        end_(begin) {}

  // One exchange of sizes and one write of the stage, which is then empty (of a rank that failed:
  // is dropped). Where its bytes have gone; the error of this rank's write, or Cancelled where
  // another rank failed.
  Result<std::uint64_t> round(Bytes& stage, RankState state);
  // Whether no further round follows until go_on().
  bool is_over() const { return over_; }
  void go_on() { over_ = false; }
  std::uint64_t end() const { return end_; }

 private:
  void pad(Bytes& stage, std::uint64_t offset, std::uint64_t round_end) const;
  bool ships_edges() const;
  Result<std::uint64_t> place_and_write(Bytes& stage);
  Result<std::uint64_t> ship_edges(Bytes& stage);
  Result<std::uint64_t> ship_nothing();
  Status end_with(Status status) {
    over_ = true;
    return status;
  }

  Comm& comm_;
  const SaveLayout& layout_;
  Write write_;
  LocalOutput& out_;
  std::uint64_t end_;
  bool over_ = false;
  // Of a round, by rank: what each brings, and where that begins.
  std::vector<std::uint64_t> sizes_;
  std::vector<std::uint64_t> begins_;
};

}  // namespace stratalog
