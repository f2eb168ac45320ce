// SPDX-License-Identifier: Apache-2.0
// Candidates: the generations that a load tries, newest first, judged by manifest and files, with
// the reasons for passing some over. Generations on the reject list come last. Local; rank 0 of a
// load.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "commit/generations.h"

namespace stratalog {

class Candidates {
 public:
  // NotFound if there is no store here at all; Corruption if its STORE file is damaged or missing.
  static Result<Candidates> find(Store& store, const LoadRequest& request,
                                 const ProtocolSteps& steps);

  // The next valid one. NotFound: nothing was ever committed. Corruption: all were passed over;
  // says why.
  Result<ManifestOnDisk> next();
  // The one that next() gave turned out bad.
  void refuse(const GenerationId& id, const std::string& reason);
  const std::vector<std::string>& skipped() const { return skipped_; }

 private:
  Candidates(Store& store, const ProtocolSteps& steps) : store_(&store), steps_(steps) {}
  Status nothing_left() const;

  Store* store_;
  ProtocolSteps steps_;
  Hash128 store_id_;
  std::string wanted_;  // the only one that will do; empty: any
  std::deque<GenerationId> waiting_;
  std::vector<std::string> skipped_;
  std::vector<std::string> unfinished_;
  bool had_committed_ = false;
};

}  // namespace stratalog
