// SPDX-License-Identifier: Apache-2.0
// Result<T>: a value or the Status that explains why there is none. GCC 12 in C++20 mode has no
// std::expected. value() requires is_ok(). No exceptions, no MPI, no files. Local;
// thread-compatible.
#pragma once

#include <cassert>
#include <utility>
#include <variant>

#include "base/status.h"

namespace stratalog {

template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : content_(std::in_place_index<0>, std::move(value)) {}  // NOLINT: implicit
  Result(Status status) : content_(std::in_place_index<1>, std::move(status)) {  // NOLINT: implicit
    assert(!std::get<1>(content_).is_ok());
  }

  bool is_ok() const { return content_.index() == 0; }
  Status status() const { return is_ok() ? Status() : std::get<1>(content_); }
  const T& value() const& {
    assert(is_ok());
    return std::get<0>(content_);
  }
  T& value() & {
    assert(is_ok());
    return std::get<0>(content_);
  }
  T&& value() && {
    assert(is_ok());
    return std::get<0>(std::move(content_));
  }

 private:
  std::variant<T, Status> content_;
};

}  // namespace stratalog

// STRATALOG_ASSIGN_OR_RETURN(auto x, make_x());
#define STRATALOG_ASSIGN_OR_RETURN(declaration, expression)                                    \
  STRATALOG_ASSIGN_OR_RETURN_INNER(STRATALOG_CONCAT(stratalog_result_, __LINE__), declaration, \
                                   expression)
#define STRATALOG_ASSIGN_OR_RETURN_INNER(result, declaration, expression) \
  auto result = (expression);                                             \
  if (!result.is_ok()) return result.status();                            \
  declaration = std::move(result).value()
