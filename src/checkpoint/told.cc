// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/told.h"

#include <cstring>

namespace stratalog {

Result<std::string> tell(Comm& comm, const Result<std::string>& from_rank_0) {
  if (comm.size() == 1) return from_rank_0;
  Bytes message;
  if (comm.rank() == 0) {
    const Status status = from_rank_0.status();
    const std::string& text = status.is_ok() ? from_rank_0.value() : status.message();
    message.resize(text.size() + 1);
    message[0] = static_cast<std::byte>(status.code());
    if (!text.empty()) std::memcpy(message.data() + 1, text.data(), text.size());
  }
  STRATALOG_RETURN_IF_ERROR(comm.broadcast(message, 0));
  if (message.empty()) return Status::internal("an empty message from rank 0");
  std::string text(reinterpret_cast<const char*>(message.data()) + 1, message.size() - 1);
  const auto code = static_cast<StatusCode>(message[0]);
  if (code == StatusCode::kOk) return text;
  return Status(code, std::move(text));
}

Status tell_status(Comm& comm, const Status& from_rank_0) {
  return tell(comm, from_rank_0.is_ok() ? Result<std::string>(std::string())
                                        : Result<std::string>(from_rank_0))
      .status();
}

}  // namespace stratalog
