// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/open_save.h"

#include <algorithm>

namespace stratalog {

void OpenSave::finish_queue() {
  if (!queue.has_thread()) {
    // Nothing was left to do beside the caller, or the thread that packs has ended.
    if (beside_until_ns.load() == 0) beside_until_ns.store(beside_since_ns);
    return;
  }
  const Status finished = queue.finish();
  if (written.is_ok()) written = finished;
  // What the caller saw of writing was waiting for room.
  out.times.write_ns = queue.write_ns();
  out.times.sync_ns = queue.sync_ns();
  out.staging_bytes = std::max(out.staging_bytes, queue.peak_bytes());
  beside_until_ns.store(std::max(queue.done_at_ns(), beside_since_ns));
}

std::uint64_t OpenSave::total_ns() const {
  return held_ns + (beside_until_ns.load() - beside_since_ns) - held_beside_ns;
}

HeldUp::~HeldUp() {
  const std::uint64_t now = now_ns();
  open_.held_ns += now - since_;
  if (open_.beside_since_ns == 0) return;
  const std::uint64_t ended = open_.beside_until_ns.load();
  const std::uint64_t from = std::max(since_, open_.beside_since_ns);
  const std::uint64_t to = ended == 0 ? now : std::min(now, ended);
  if (to > from) open_.held_beside_ns += to - from;
}

Status sum_up(Comm& comm, const OpenSave& open, SaveReport& report) {
  const LocalOutput& out = open.out;
  const PhaseTimes& t = out.times;
  std::uint64_t most[] = {
      t.walk_ns - t.encode_ns, t.encode_ns,       t.write_ns,    t.sync_ns,  t.commit_ns,
      open.total_ns(),         out.staging_bytes, t.metadata_ns, t.route_ns, open.held_ns};
  STRATALOG_RETURN_IF_ERROR(comm.allreduce(most, ReduceOp::kMax));
  std::uint64_t sums[] = {out.groups, out.bytes + report.bytes, out.files + report.files};
  STRATALOG_RETURN_IF_ERROR(comm.allreduce(sums, ReduceOp::kSum));
  constexpr double kSecond = 1e9;
  report.pack_seconds = static_cast<double>(most[0]) / kSecond;
  report.encode_seconds = static_cast<double>(most[1]) / kSecond;
  report.write_seconds = static_cast<double>(most[2]) / kSecond;
  report.sync_seconds = static_cast<double>(most[3]) / kSecond;
  report.commit_seconds = static_cast<double>(most[4]) / kSecond;
  report.total_seconds = static_cast<double>(most[5]) / kSecond;
  report.staging_bytes = most[6];
  report.metadata_seconds = static_cast<double>(most[7]) / kSecond;
  report.route_seconds = static_cast<double>(most[8]) / kSecond;
  report.held_seconds = static_cast<double>(most[9]) / kSecond;
  report.overlap = open.overlap.way;
  report.groups = sums[0];
  report.bytes = sums[1];
  report.files = sums[2];
  return Status::ok();
}

}  // namespace stratalog
