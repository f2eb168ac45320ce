// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/open_save.h"

namespace stratalog {

Status sum_up(Comm& comm, const OpenSave& open, SaveReport& report) {
  const LocalOutput& out = open.out;
  const PhaseTimes& t = out.times;
  const bool is_overlapped = open.context && &open.context->request == &open.owned;
  const std::uint64_t total_ns = open.held_ns + (is_overlapped ? open.written_ns : 0);
  std::uint64_t most[] = {
      t.walk_ns - t.encode_ns, t.encode_ns,   t.write_ns, t.sync_ns,   t.commit_ns, total_ns,
      out.staging_bytes,       t.metadata_ns, t.route_ns, open.held_ns};
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
  report.groups = sums[0];
  report.bytes = sums[1];
  report.files = sums[2];
  return Status::ok();
}

}  // namespace stratalog
