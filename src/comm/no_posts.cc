// SPDX-License-Identifier: Apache-2.0
// What a Comm answers whose ranks cannot post to each other.
#include "comm/comm.h"

namespace stratalog {
namespace {

Status cannot_post() {
  return Status::internal("the ranks of this group cannot post to each other (Comm::has_post)");
}

}  // namespace

// NOLINTNEXTLINE(performance-unnecessary-value-param): ranks that can post move the data
Status Comm::post(int /*to*/, Bytes /*data*/) { return cannot_post(); }
Result<std::optional<Post>> Comm::take_post() { return cannot_post(); }
Result<Bytes> Comm::await_post(int /*sender*/) { return cannot_post(); }

}  // namespace stratalog
