// SPDX-License-Identifier: Apache-2.0
// KeptRun: a run whose relations stay in memory after it, for callers that go on with them (the
// library, src/api). Making one is collective; looking at it is local, and does not change it.
#pragma once

#include <memory>

#include "datalog/evaluate/engine.h"
#include "model/tuple_group.h"

namespace stratalog::datalog {

class KeptRun {
 public:
  // Collective: run_program (engine.h), with the same errors. `comm` and what the options point to
  // must outlive the result; stores need not outlive the call.
  static Result<std::unique_ptr<KeptRun>> run(Comm& comm, std::shared_ptr<const Program> program,
                                              RunOptions options, RunHooks hooks);
  KeptRun(const KeptRun&) = delete;
  KeptRun& operator=(const KeptRun&) = delete;
  ~KeptRun();

  const RunReport& report() const;
  // This rank's tuples; every tuple is on one rank. Borrows this object.
  RelationImage image(RelationId relation) const;
  const ValueDictionary& dictionary() const;

 private:
  struct Parts;
  explicit KeptRun(std::unique_ptr<Parts> parts);

  std::unique_ptr<Parts> parts_;
};

}  // namespace stratalog::datalog
