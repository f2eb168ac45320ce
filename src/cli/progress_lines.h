// SPDX-License-Identifier: Apache-2.0
// ProgressLines: the progress of a run as lines of JSON for programs that watch it
// (--progress=json). One object a line: phases, rounds (at most two a second), finished strata,
// notices, and the end. The fields are in docs/command.md. Rank 0 only; local; not thread-safe.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "datalog/evaluate/engine.h"

namespace stratalog::cli {

class ProgressLines {
 public:
  explicit ProgressLines(std::function<void(std::string_view)> write) : write_(std::move(write)) {}

  void update(const datalog::Progress& progress);
  void notice(std::string_view text);
  void failure(std::string_view text);
  void end(const datalog::RunReport& report);

 private:
  void tell_stratum();

  std::function<void(std::string_view)> write_;
  datalog::Progress last_;
  bool has_last_ = false;
  bool in_stratum_ = false;
  double told_seconds_ = 0;
  std::uint64_t told_tuples_ = 0;
};

}  // namespace stratalog::cli
