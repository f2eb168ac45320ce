// SPDX-License-Identifier: Apache-2.0
#include "datalog/facts/rank_zero.h"

#include <cstdint>
#include <string>
#include <vector>

namespace stratalog::datalog {

// CBOR instead of text: file names need not be UTF-8.
Result<nlohmann::json> ask_rank_zero(Comm& comm,
                                     const std::function<Result<nlohmann::json>()>& ask) {
  Bytes message;
  if (comm.rank() == 0) {
    const auto answer = ask();
    nlohmann::json envelope;
    if (answer.is_ok())
      envelope = {{"answer", answer.value()}};
    else
      envelope = {{"code", static_cast<int>(answer.status().code())},
                  {"message", answer.status().message()}};
    const std::vector<std::uint8_t> encoded = nlohmann::json::to_cbor(envelope);
    message.assign(reinterpret_cast<const std::byte*>(encoded.data()),
                   reinterpret_cast<const std::byte*>(encoded.data() + encoded.size()));
  }
  STRATALOG_RETURN_IF_ERROR(comm.broadcast(message, 0));
  const auto* first = reinterpret_cast<const std::uint8_t*>(message.data());
  const nlohmann::json envelope =
      nlohmann::json::from_cbor(first, first + message.size(), true, false);
  if (!envelope.is_object()) return Status::internal("the message of rank 0 was cut");
  if (envelope.contains("answer")) return envelope["answer"];
  return Status(static_cast<StatusCode>(envelope.value("code", 10)),
                envelope.value("message", std::string("rank 0 gave no reason")));
}

}  // namespace stratalog::datalog
