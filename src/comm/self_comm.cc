// SPDX-License-Identifier: Apache-2.0
// SelfComm: the group of one. Collectives are copies; nothing can wait for anybody. No MPI. Local.

#include "comm/call_check.h"
#include "comm/comm.h"

namespace stratalog {
namespace {

class SelfComm final : public Comm {
 public:
  int rank() const override { return 0; }
  int size() const override { return 1; }
  Status barrier() override { return Status::ok(); }
  Status allreduce(std::span<std::uint64_t> /*values*/, ReduceOp /*op*/) override {
    return Status::ok();
  }
  Status broadcast(Bytes& /*data*/, int root) override { return check_root(root, 1); }
  Result<Received> allgather(std::span<const std::byte> mine) override { return copy_of(mine); }
  Result<Received> gather(std::span<const std::byte> mine, int root) override {
    STRATALOG_RETURN_IF_ERROR(check_root(root, 1));
    return copy_of(mine);
  }
  Result<Received> exchange(std::span<const std::byte> data,
                            std::span<const std::uint64_t> counts) override {
    STRATALOG_RETURN_IF_ERROR(check_exchange(data.size(), counts, 1));
    return copy_of(data);
  }

 private:
  static Received copy_of(std::span<const std::byte> mine) {
    return {.data = Bytes(mine.begin(), mine.end()), .counts = {mine.size()}};
  }
};

}  // namespace

std::unique_ptr<Comm> make_self_comm() { return std::make_unique<SelfComm>(); }

}  // namespace stratalog
