// SPDX-License-Identifier: Apache-2.0
// What a Comm does that cannot reduce beside other work: the ranks wait for each other.
#include <utility>

#include "comm/comm.h"

namespace stratalog {
namespace {

class DoneReduction final : public ReductionUnderWay {
 public:
  explicit DoneReduction(std::vector<std::uint64_t> values) { values_ = std::move(values); }
  Result<bool> is_done() override { return true; }
  Status wait() override { return Status::ok(); }
};

}  // namespace

Result<std::unique_ptr<ReductionUnderWay>> Comm::begin_allreduce(std::vector<std::uint64_t> values,
                                                                 ReduceOp op) {
  STRATALOG_RETURN_IF_ERROR(allreduce(values, op));
  return std::unique_ptr<ReductionUnderWay>(std::make_unique<DoneReduction>(std::move(values)));
}

}  // namespace stratalog
