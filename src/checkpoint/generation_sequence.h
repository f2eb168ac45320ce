// SPDX-License-Identifier: Apache-2.0
// GenerationSequence: the generations of one store as one job writes them: it claims the store,
// numbers and begins generations, publishes their manifests and removes what retention no longer
// keeps. Rank 0 acts, the others hear of it. Knows no tuples.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "checkpoint/checkpoint.h"
#include "comm/comm.h"
#include "commit/publish.h"
#include "commit/retention.h"
#include "commit/store_file.h"

namespace stratalog {

// What rank 0 tells everybody when a generation begins.
struct Beginning {
  GenerationId id;
  Nonce nonce;
  Hash128 store_id;
};

class GenerationSequence {
 public:
  // Both outlive it.
  GenerationSequence(Store& store, const WriterOptions& options)
      : store_(store), options_(options) {}

  // Rank 0, before anything else.
  Status claim();
  // Collective: the next number, and its directory.
  Result<Beginning> begin(Comm& comm);
  // Rank 0: all data is durable. The text must read back as `manifest`; it is then in `published`.
  PublishResult publish(const Manifest& manifest, const std::string& text,
                        Result<Manifest>& published);
  // Rank 0, after publish(): removes what is no longer kept; failures are notes, because failing to
  // remove something old does not harm what is new.
  void retain(const Manifest& manifest, std::vector<std::string>& notes);
  // Rank 0: the newest generation, of those still there, that remembers costs measured on the same;
  // null if there is none.
  const KnownGeneration* newest_learned(const MeasuredOn& on) const;
  // What claiming found worth telling.
  const std::vector<std::string>& notes() const { return claim_.notes; }

 private:
  CommitRules rules() const {
    return {.epoch = claim_.epoch, .durability = options_.durability, .steps = options_.steps};
  }
  Result<std::string> begin_next();

  Store& store_;
  const WriterOptions& options_;
  StoreClaim claim_;  // rank 0
  std::uint64_t next_sequence_ = 1;  // rank 0
  std::vector<KnownGeneration> known_;  // rank 0, newest first
};

}  // namespace stratalog
