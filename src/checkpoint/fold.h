// SPDX-License-Identifier: Apache-2.0
// Fold: compaction inside a job. Where the chain of a growing relation is to end, its parts are
// read back from the base's files, united with what is new and written as one, by whoever packs the
// checkpoint: beside the evaluation, a thread that needs no copy of the relation. Each rank reads
// its own shards side by side, a block of each in memory. Parts and growth hand out their prefixes
// in one order, that of the engine's index, so that each row comes out whole however many parts it
// lay in. What is read is verified block by block, and all of it by the hash that the base's
// manifest promises (check_folds). Local where not marked.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "checkpoint/chain_base.h"
#include "checkpoint/checkpoint.h"
#include "commit/generations.h"

namespace stratalog {

class Fold {
 public:
  // All of them outlive it. The base is opened when the first image is walked.
  Fold(const Comm& comm, Store& store, const std::string& base)
      : comm_(comm), store_(store), base_(base) {}

  // All groups of an image of which `growth` hands out a group for each prefix of the relation, in
  // the order of the base's parts, with the new elements, if there are any.
  Status walk(const RelationImage& growth, const GroupVisitor& visit);

  // What was handed out of an image.
  struct Folded {
    std::uint64_t rows = 0;
    MultisetHash hash;
  };
  Folded folded(const RelationImage& image) const;
  // Why the base cannot be read; OK while it can.
  const Status& damage() const { return damage_; }

 private:
  Status open_base();
  // Remembers an error of the base.
  Status damaged(const Status& status);

  const Comm& comm_;
  Store& store_;
  const std::string& base_;
  std::optional<ManifestOnDisk> found_;
  std::map<std::pair<std::string, RelationVersion>, Folded> folded_;
  Status damage_;
};

bool has_folds(const SaveRequest& request);
// Makes the folded images of a request hand out everything, and have as many rows; `fold` outlives
// them.
void walk_through(Fold& fold, const ChainBase& base, SaveRequest& request);
// Collective, after all ranks have written: what came out is what the base's manifest says together
// with the growth. Corruption if not.
Status check_folds(Comm& comm, const SaveRequest& request, const Fold& fold, const ChainBase& base);

}  // namespace stratalog
