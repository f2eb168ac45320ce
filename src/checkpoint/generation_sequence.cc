// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/generation_sequence.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/memory_end.h"
#include "checkpoint/told.h"

namespace stratalog {
namespace {

std::string pack_beginning(const Beginning& b) {
  return std::string(reinterpret_cast<const char*>(&b), sizeof(b));
}

Result<Beginning> unpack_beginning(const std::string& bytes) {
  Beginning b;
  if (bytes.size() != sizeof(b)) return Status::internal("the beginning of a save has odd length");
  std::memcpy(&b, bytes.data(), sizeof(b));
  return b;
}

// What cannot be read back must not be committed.
Result<Manifest> read_back(const Manifest& manifest, const std::string& text) {
  Result<Manifest> again = parse_manifest(text, CheckManifest::kYes);
  if (!again.is_ok()) return again.status().with_context("the manifest just written");
  if (again.value().engine_state != manifest.engine_state ||
      again.value().program_hash != manifest.program_hash)
    return Status::invalid_argument("engine state and program hash must be UTF-8 text");
  return again;
}

}  // namespace

Status GenerationSequence::claim() {
  STRATALOG_ASSIGN_OR_RETURN(claim_, claim_store(store_, options_.durability, options_.steps));
  STRATALOG_ASSIGN_OR_RETURN(
      known_,
      adopt_generations(store_, claim_.id, std::max(2U, options_.keep_generations), rules()));
  for (const KnownGeneration& generation : known_)
    next_sequence_ = std::max(next_sequence_, generation.id.sequence + 1);
  return Status::ok();
}

const KnownGeneration* GenerationSequence::newest_learned(const MeasuredOn& on) const {
  const auto found = std::find_if(known_.begin(), known_.end(), [&](const KnownGeneration& known) {
    return known.learned && known.learned->on == on;
  });
  return found == known_.end() ? nullptr : &*found;
}

Result<std::string> GenerationSequence::begin_next() {
  if (next_sequence_ > kMaxSequence)
    return Status::not_supported("all sequence numbers of this store are used up");
  Beginning b{.id = {.epoch = claim_.epoch, .sequence = next_sequence_},
              .nonce = {},
              .store_id = claim_.id};
  STRATALOG_RETURN_IF_ERROR(store_.random_bytes(std::as_writable_bytes(std::span(&b.nonce, 1))));
  ++next_sequence_;  // never used again, whatever happens
  STRATALOG_RETURN_IF_ERROR(begin_generation(store_, b.id, rules()));
  return pack_beginning(b);
}

Result<Beginning> GenerationSequence::begin(Comm& comm) {
  Result<std::string> beginning = std::string();
  if (comm.rank() == 0) beginning = begin_next();
  STRATALOG_ASSIGN_OR_RETURN(const std::string told, tell(comm, beginning));
  return unpack_beginning(told);
}

PublishResult GenerationSequence::publish(const Manifest& manifest, const std::string& text,
                                          Result<Manifest>& published) {
  PublishResult result;
  published = or_no_space("not enough memory to look through a manifest",
                          [&] { return read_back(manifest, text); });
  result.status = published.status();
  if (result.status.is_ok()) result = publish_manifest(store_, manifest.id, text, rules());
  if (result.outcome == PublishOutcome::kFailed) (void)discard_generation(store_, manifest.id);
  if (result.outcome == PublishOutcome::kUnknown)
    result.status = result.status.with_context(
        fmt::format("the outcome of checkpoint {} is unknown (it may or may not survive a crash)",
                    generation_name(manifest.id)));
  return result;
}

void GenerationSequence::retain(const Manifest& manifest, std::vector<std::string>& notes) {
  known_.insert(
      known_.begin(),
      {.id = manifest.id, .has_manifest = true, .is_valid = true, .needs = files_needed(manifest)});
  if (!options_.steps.includes(ProtocolStep::kKeepLinked))
    for (KnownGeneration& generation : known_) generation.needs.clear();
  for (const Removal& removal : plan_retention(known_, options_.keep_generations, claim_.epoch)) {
    const Status removed = remove_generation(store_, removal, rules());
    if (!removed.is_ok() && removed.code() != StatusCode::kNotFound) {
      notes.push_back(fmt::format("{} could not be removed: {}", generation_name(removal.id),
                                  removed.to_string()));
      continue;
    }
    const auto known = std::find_if(known_.begin(), known_.end(),
                                    [&](const KnownGeneration& k) { return k.id == removal.id; });
    if (removal.keep.empty())
      known_.erase(known);
    else
      *known = {.id = removal.id, .left = removal.keep};
  }
}

}  // namespace stratalog
