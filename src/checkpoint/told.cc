// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/told.h"

#include <cstring>
#include <string_view>

#include "base/memory_end.h"

namespace stratalog {

namespace {

constexpr std::string_view kNoRoom = "not enough memory for what rank 0 tells";

void pack(const Result<std::string>& told, Bytes& message) {
  const Status status = told.status();
  const std::string& text = status.is_ok() ? told.value() : status.message();
  message.resize(text.size() + 1);
  message[0] = static_cast<std::byte>(status.code());
  if (!text.empty()) std::memcpy(message.data() + 1, text.data(), text.size());
}

}  // namespace

Result<std::string> tell(Comm& comm, const Result<std::string>& from_rank_0) {
  if (comm.size() == 1) return from_rank_0;
  Bytes message;
  if (comm.rank() == 0) {
    const Status packed = or_no_space(kNoRoom, [&] {
      pack(from_rank_0, message);
      return Status::ok();
    });
    if (!packed.is_ok()) pack(packed, message);
  }
  STRATALOG_RETURN_IF_ERROR(comm.broadcast(message, 0));
  if (message.empty()) return Status::internal("an empty message from rank 0");
  std::string text;
  STRATALOG_RETURN_IF_ERROR(agree(comm, or_no_space(kNoRoom, [&] {
                                    text.assign(reinterpret_cast<const char*>(message.data()) + 1,
                                                message.size() - 1);
                                    return Status::ok();
                                  })));
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
