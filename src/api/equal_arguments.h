// SPDX-License-Identifier: Apache-2.0
// EqualArguments: what all ranks have to hand to a collective call of the library alike, compared
// before anything else. So ranks whose arguments differ, or of which one has an error already, end
// together and hear why, where otherwise some would wait for calls that the others never make. A
// group of one pays nothing.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "comm/comm.h"

namespace stratalog {

class EqualArguments {
 public:
  // `comm` must outlive this object.
  explicit EqualArguments(Comm& comm) : comm_(comm) {}

  // Local. The same names in the same order on all ranks; what tells most comes first.
  void add(const char* name, std::string_view value);
  void add(const char* name, std::span<const std::string> values);

  // Collective, one reduction if all is well. RanksDisagree with the first argument that differs;
  // then agree() about `mine`, what this rank has against the call.
  Status check(const Status& mine);

  // The same of a rank that cannot make the call: what it has not got does not count as a
  // difference, and `why`, which is an error, is the verdict of all.
  Status refuse(const Status& why);

 private:
  struct Argument {
    const char* name;
    std::uint64_t hash;
  };

  Status compare(std::uint64_t objection, const Status& mine);
  Status tell_difference(const Argument& argument);

  Comm& comm_;
  std::vector<Argument> arguments_;
};

}  // namespace stratalog
