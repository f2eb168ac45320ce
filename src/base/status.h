// SPDX-License-Identifier: Apache-2.0
// Status: the outcome of an operation, by value. OK costs one null pointer; an error carries a code
// and a sentence that names what happened, where, and what to do. No exceptions, no MPI, no files.
// Local; thread-compatible.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace stratalog {

// Ordered from harmless to severe: a collective agreement keeps the largest code. The numbers go
// into messages that ranks exchange, never into files.
enum class StatusCode : std::uint8_t {
  kOk = 0,
  kCancelled = 1,
  kNotFound = 2,
  kAlreadyExists = 3,
  kInvalidArgument = 4,
  kNotSupported = 5,
  kNoSpace = 6,
  kIoError = 7,
  kCorruption = 8,
  kRanksDisagree = 9,
  kInternal = 10,
};

// The name of a code as it is printed, for example "NoSpace".
std::string_view status_code_name(StatusCode code);

class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(StatusCode code, std::string message);
  Status(const Status& other);
  Status& operator=(const Status& other);
  Status(Status&&) noexcept = default;
  Status& operator=(Status&&) noexcept = default;
  ~Status() = default;

  static Status ok() { return {}; }
  static Status cancelled(std::string m) { return {StatusCode::kCancelled, std::move(m)}; }
  static Status not_found(std::string m) { return {StatusCode::kNotFound, std::move(m)}; }
  static Status already_exists(std::string m) { return {StatusCode::kAlreadyExists, std::move(m)}; }
  static Status invalid_argument(std::string m) {
    return {StatusCode::kInvalidArgument, std::move(m)};
  }
  static Status not_supported(std::string m) { return {StatusCode::kNotSupported, std::move(m)}; }
  static Status no_space(std::string m) { return {StatusCode::kNoSpace, std::move(m)}; }
  static Status io_error(std::string m) { return {StatusCode::kIoError, std::move(m)}; }
  static Status corruption(std::string m) { return {StatusCode::kCorruption, std::move(m)}; }
  static Status ranks_disagree(std::string m) { return {StatusCode::kRanksDisagree, std::move(m)}; }
  static Status internal(std::string m) { return {StatusCode::kInternal, std::move(m)}; }

  bool is_ok() const { return state_ == nullptr; }
  StatusCode code() const { return state_ ? state_->code : StatusCode::kOk; }
  const std::string& message() const;
  // "Corruption: file x, offset 12: ..." or "OK".
  std::string to_string() const;
  // The same code with "context: " in front of the message.
  Status with_context(std::string_view context) const;

 private:
  struct State {
    StatusCode code;
    std::string message;
  };
  std::unique_ptr<State> state_;
};

}  // namespace stratalog

#define STRATALOG_CONCAT_INNER(a, b) a##b
#define STRATALOG_CONCAT(a, b) STRATALOG_CONCAT_INNER(a, b)

#define STRATALOG_RETURN_IF_ERROR(expression)                         \
  do {                                                                \
    ::stratalog::Status stratalog_status_here = (expression);         \
    if (!stratalog_status_here.is_ok()) return stratalog_status_here; \
  } while (false)
