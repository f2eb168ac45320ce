// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/candidates.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "commit/store_file.h"

namespace stratalog {

Result<Candidates> Candidates::find(Store& store, const LoadRequest& request,
                                    const ProtocolSteps& steps) {
  Candidates found(store, steps);
  found.wanted_ = request.generation;
  STRATALOG_ASSIGN_OR_RETURN(const auto ids, list_generation_ids(store));
  const Result<Hash128> store_id = read_store_id(store);
  if (!store_id.is_ok()) {
    // Without a single manifest there is nothing to lose; otherwise a missing STORE is damage, as
    // read_store_id() says.
    const bool committed = std::any_of(ids.begin(), ids.end(), [&](const GenerationId& id) {
      return store.info(generation_name(id) + "/" + kManifestName).is_ok();
    });
    const StatusCode code = store_id.status().code();
    if (!committed && (code == StatusCode::kNotFound || code == StatusCode::kCorruption))
      return Status::not_found(fmt::format("there is no checkpoint in {}", store.root()));
    return store_id.status();
  }
  found.store_id_ = store_id.value();
  std::vector<GenerationId> rejected;
  for (const GenerationId& id : ids) {
    const std::string name = generation_name(id);
    if (!request.generation.empty()) {
      if (name == request.generation) found.waiting_.push_back(id);
      continue;
    }
    if (std::find(request.excluded.begin(), request.excluded.end(), name) !=
        request.excluded.end()) {
      found.refuse(id, "refused by the caller");
      continue;
    }
    const Result<std::string> reject = read_text_file(store, reject_name(name), 65536);
    if (reject.is_ok()) {
      found.refuse(id, "rejected earlier: " + reject.value());
      rejected.push_back(id);
      continue;
    }
    found.waiting_.push_back(id);
  }
  found.waiting_.insert(found.waiting_.end(), rejected.begin(), rejected.end());
  if (!request.generation.empty() && found.waiting_.empty())
    return Status::not_found(fmt::format("there is no {} in {}; `stratalog ls` shows what there is",
                                         request.generation, store.root()));
  return found;
}

void Candidates::refuse(const GenerationId& id, const std::string& reason) {
  had_committed_ = true;
  skipped_.push_back(fmt::format("{}: {}", generation_name(id), reason));
}

Result<ManifestOnDisk> Candidates::next() {
  while (!waiting_.empty()) {
    const GenerationId id = waiting_.front();
    waiting_.pop_front();
    Result<ManifestOnDisk> found = read_valid_manifest(*store_, id, store_id_, steps_);
    if (found.is_ok()) return found;
    if (found.status().code() == StatusCode::kNotFound)
      unfinished_.push_back(generation_name(id));
    else
      refuse(id, found.status().to_string());
  }
  return nothing_left();
}

Status Candidates::nothing_left() const {
  if (!wanted_.empty() && had_committed_)
    return Status::corruption(
        fmt::format("the checkpoint asked for cannot be used; {}", fmt::join(skipped_, "; ")));
  if (had_committed_)
    return Status::corruption(
        fmt::format("{} has checkpoints, but none is valid; nothing was started over. Reasons: {}",
                    store_->root(), fmt::join(skipped_, "; ")));
  if (!unfinished_.empty())
    return Status::not_found(fmt::format("no checkpoint in {} was ever finished (unfinished: {})",
                                         store_->root(), fmt::join(unfinished_, ", ")));
  return Status::not_found(fmt::format("there is no checkpoint in {}", store_->root()));
}

}  // namespace stratalog
