// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/growing_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "place/shared_layout.h"

namespace stratalog {
namespace {

struct Announcement {
  std::uint64_t bytes;
  GrowingFile::RankState state;
};

}  // namespace

Result<std::uint64_t> GrowingFile::round(Bytes& stage, RankState state) {
  const Stopwatch watch(out_.times.write_ns);
  if (state == RankState::kFailed) stage.clear();
  const Announcement mine{.bytes = stage.size(), .state = state};
  Result<Received> all = comm_.allgather(std::as_bytes(std::span(&mine, 1)));
  if (!all.is_ok()) return end_with(all.status());
  std::vector<std::uint64_t> sizes;
  bool done = true;
  const std::uint32_t my_file = layout_.file_of(comm_.rank());
  for (int r = 0; r < comm_.size(); ++r) {
    Announcement theirs{};
    std::memcpy(&theirs, all.value().data.data() + (static_cast<std::size_t>(r) * sizeof(mine)),
                sizeof(mine));
    sizes.push_back(layout_.file_of(r) == my_file ? theirs.bytes : 0);
    done = done && theirs.state == RankState::kDone;
    if (theirs.state == RankState::kFailed)
      return end_with(Status::cancelled(fmt::format("rank {} failed", r)));
  }
  Result<RoundPlan> plan = plan_round(end_, sizes, layout_.plan.extent_alignment);
  if (!plan.is_ok()) return end_with(plan.status());
  const std::uint64_t offset = plan.value().offsets[static_cast<std::size_t>(comm_.rank())];
  if (!stage.empty()) pad(stage, offset, plan.value().end);
  const Status written = write_(offset, stage);
  out_.staging_bytes = std::max<std::uint64_t>(out_.staging_bytes, stage.capacity());
  stage.clear();
  end_ = plan.value().end;
  over_ = done;
  if (!written.is_ok()) return written;
  return offset;
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
