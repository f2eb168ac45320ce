// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/learned_layout.h"

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>

#include "base/memory_end.h"
#include "checkpoint/told.h"

namespace stratalog {
namespace {

constexpr std::string_view kNoRoomToRecall =
    "not enough memory for what earlier checkpoints have cost";

// What an earlier job has left to this one.
struct Recalled {
  std::string generation;  // in whose manifest it stood; empty: there is nothing
  LearnedCosts costs;
};

// The generation's name, and the record behind a newline.
Result<std::string> pack_recalled(const KnownGeneration* found) {
  if (found == nullptr) return std::string();
  return or_no_space(kNoRoomToRecall, [&]() -> Result<std::string> {
    return generation_name(found->id) + "\n" + learned_text(*found->learned);
  });
}

Recalled unpack_recalled(const std::string& text) {
  const std::size_t end = text.find('\n');
  if (end == std::string::npos) return {};
  auto record = parse_learned(std::string_view(text).substr(end + 1));
  if (!record) return {};
  return {.generation = text.substr(0, end), .costs = std::move(record->costs)};
}

// Collective: what rank 0 has found (null: nothing), on every rank; others pass anything.
Result<Recalled> tell_recalled(Comm& comm, const KnownGeneration* found) {
  Result<std::string> packed = std::string();
  if (comm.rank() == 0) packed = pack_recalled(found);
  STRATALOG_ASSIGN_OR_RETURN(const std::string told, tell(comm, packed));
  Recalled recalled;
  STRATALOG_RETURN_IF_ERROR(agree(comm, or_no_space(kNoRoomToRecall, [&] {
                                    recalled = unpack_recalled(told);
                                    return Status::ok();
                                  })));
  return recalled;
}

}  // namespace

Status LearnedLayout::recall(Comm& comm, const GenerationSequence& generations,
                             const MeasuredOn& on) {
  if (has_recalled_) return Status::ok();
  STRATALOG_ASSIGN_OR_RETURN(
      Recalled recalled,
      tell_recalled(comm, comm.rank() == 0 ? generations.newest_learned(on) : nullptr));
  has_recalled_ = true;
  if (recalled.generation.empty()) return Status::ok();
  const std::uint64_t saves = recalled.costs.saves;
  remembered_ = {.about = "auto: remembered",
                 .text = fmt::format("from {}, {} measurement{}", recalled.generation, saves,
                                     saves == 1 ? "" : "s")};
  learner_ = LayoutLearner(std::move(recalled.costs));
  return Status::ok();
}

Result<AutoChoice> LearnedLayout::choose(Comm& comm, const GenerationSequence& generations,
                                         const AutoFacts& facts, const MeasuredOn& on) {
  STRATALOG_RETURN_IF_ERROR(recall(comm, generations, on));
  AutoChoice choice = learner_.choose(facts);
  // Behind what the table says, before what was measured.
  if (remembered_) choice.reasons.insert(choice.reasons.begin() + 1, *remembered_);
  return choice;
}

std::optional<LearnedRecord> LearnedLayout::record(const MeasuredOn& on) const {
  if (learner_.snapshot().costs.empty()) return std::nullopt;
  return LearnedRecord{.on = on, .costs = learner_.snapshot()};
}

}  // namespace stratalog
