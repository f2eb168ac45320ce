// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/growing_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "base/integer_division.h"
#include "base/memory_end.h"
#include "place/shared_layout.h"
#include "place/write_edges.h"
#include "policy/checkpoint_mode.h"

namespace stratalog {
namespace {

struct Announcement {
  std::uint64_t bytes;
  GrowingFile::RankState state;
};

}  // namespace

Result<std::uint64_t> GrowingFile::round(Bytes& stage, RankState state) {
  const Stopwatch watch(out_.times.write_ns);
  // Whoever is short of memory must find out before others count on it.
  const auto ranks = static_cast<std::size_t>(comm_.size());
  const Status ready = or_no_space("not enough memory for a round of a shared file", [&] {
    sizes_.assign(ranks, 0);
    begins_.assign(ranks + 1, 0);
    return Status::ok();
  });
  if (!ready.is_ok()) state = RankState::kFailed;
  if (state == RankState::kFailed) stage.clear();
  const Announcement mine{.bytes = stage.size(), .state = state};
  Result<Received> all = comm_.allgather(std::as_bytes(std::span(&mine, 1)));
  if (!ready.is_ok()) return end_with(ready);
  if (!all.is_ok()) return end_with(all.status());
  bool done = true;
  const std::uint32_t my_file = layout_.file_of(comm_.rank());
  for (int r = 0; r < comm_.size(); ++r) {
    Announcement theirs{};
    std::memcpy(&theirs, all.value().data.data() + (static_cast<std::size_t>(r) * sizeof(mine)),
                sizeof(mine));
    if (layout_.file_of(r) == my_file) sizes_[static_cast<std::size_t>(r)] = theirs.bytes;
    done = done && theirs.state == RankState::kDone;
    if (theirs.state == RankState::kFailed)
      return end_with(Status::cancelled(fmt::format("rank {} failed", r)));
  }
  over_ = done;
  return place_and_write(stage);
}

// What ranks do together they do whatever has failed on this one, then with nothing.
Result<std::uint64_t> GrowingFile::place_and_write(Bytes& stage) {
  if (ships_edges()) end_ = ceil_divide(end_, kExtentAlignment) * kExtentAlignment;
  std::uint64_t offset = end_;
  std::uint64_t end = end_;
  Status status = or_no_space("not enough memory for a round of a shared file", [&]() -> Status {
    STRATALOG_ASSIGN_OR_RETURN(const RoundPlan plan,
                               plan_round(end_, sizes_, layout_.plan.extent_alignment));
    offset = plan.offsets[static_cast<std::size_t>(comm_.rank())];
    end = plan.end;
    if (!ships_edges() && !stage.empty()) pad(stage, offset, end);
    return Status::ok();
  });
  std::uint64_t shipped = 0;
  if (ships_edges()) {
    auto went = status.is_ok() ? ship_edges(stage) : ship_nothing();
    if (went.is_ok())
      shipped = went.value();
    else if (status.is_ok())
      status = went.status();
  }
  end_ = end;
  if (!status.is_ok()) stage.clear();
  const Status written = or_no_space("not enough memory to write to a shared file",
                                     [&] { return write_(offset + shipped, stage); });
  if (status.is_ok()) status = written;
  out_.staging_bytes = std::max<std::uint64_t>(out_.staging_bytes, stage.capacity());
  stage.clear();
  if (!status.is_ok()) return status;
  return offset;
}

bool GrowingFile::ships_edges() const {
  return stores_streams(layout_.plan.mode) && layout_.plan.edge_alignment > 1;
}

// Takes from the front of the stage what another rank writes, and returns how much that is; what
// this rank writes of others' follows on its own bytes. Its time is that of the round, which is
// writing. Collective.
Result<std::uint64_t> GrowingFile::ship_edges(Bytes& stage) {
  std::inclusive_scan(sizes_.begin(), sizes_.end(), begins_.begin() + 1);
  const WriteEdge edge = plan_write_edge(
      begins_, comm_.rank(), {.offset = end_, .alignment = layout_.plan.edge_alignment});
  std::vector<Parcel> parcels;
  if (edge.shipped_bytes != 0)
    parcels.push_back({.rank = edge.writer, .bytes = edge.shipped_bytes});
  const auto shipped = static_cast<std::ptrdiff_t>(edge.shipped_bytes);
  STRATALOG_ASSIGN_OR_RETURN(
      const ReceivedParcels received,
      comm_.exchange_parcels(std::span(stage).first(edge.shipped_bytes), parcels));
  STRATALOG_RETURN_IF_ERROR(or_no_space("not enough memory to pass bytes on", [&] {
    stage.erase(stage.begin(), stage.begin() + shipped);
    stage.insert(stage.end(), received.data.begin(), received.data.end());
    return Status::ok();
  }));
  return edge.shipped_bytes;
}

Result<std::uint64_t> GrowingFile::ship_nothing() {
  STRATALOG_RETURN_IF_ERROR(comm_.exchange_parcels({}, {}).status());
  return std::uint64_t{0};
}

// With romio_cb_write=enable ROMIO reads what lies in a hole between two ranks before it writes
// all in one piece; beyond the end of the file it reads nothing and writes what its buffer
// happens to hold. So tuned files have no holes within a round.
void GrowingFile::pad(Bytes& stage, std::uint64_t offset, std::uint64_t round_end) const {
  if (layout_.plan.mode != CheckpointMode::kSharedOpt || offset + stage.size() == round_end) return;
  const std::uint64_t unit = layout_.plan.extent_alignment;
  stage.resize((offset + stage.size() + unit - 1) / unit * unit - offset);
}

}  // namespace stratalog
