// SPDX-License-Identifier: Apache-2.0
// LearnedRecord: what a job has learned about the cost of its saves (policy/learning.h) as a
// generation's manifest hands it to the next job, and on what it was measured. Its text is JSON;
// reading it trusts nothing, and what is not as it must be is no record at all: nobody needs it.
// Layout: docs/formats/checkpoint.md. Pure; local.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "commit/vocabulary.h"
#include "policy/layout_option.h"
#include "policy/learning.h"

namespace stratalog {

enum class StageUse : std::uint8_t { kDirect, kStaged };
enum class SharedWriting : std::uint8_t { kByStore, kByMpi };

// What costs hang on besides the way to write: they say something about another job only where all
// of this is equal.
struct MeasuredOn {
  LearnedFormat format = LearnedFormat::kEncoded;
  std::uint32_t ranks = 1;
  std::uint32_t nodes = 1;
  std::string file_system;  // "ext4"
  Durability durability = Durability::kFull;
  StageUse stage = StageUse::kDirect;
  SharedWriting shared = SharedWriting::kByStore;  // who writes what ranks write together
  // What was asked for; 0: left to the policy. An option does not tell the two apart.
  ShardEncoding encoding = ShardEncoding::kAuto;
  std::uint32_t aggregators = 0;
  std::uint64_t alignment = 0;
  std::uint32_t relations_per_file = 0;
  friend bool operator==(const MeasuredOn&, const MeasuredOn&) = default;
};

struct LearnedRecord {
  MeasuredOn on;
  LearnedCosts costs;
  friend bool operator==(const LearnedRecord&, const LearnedRecord&) = default;
};

// One line, without the newline; numbers come back exactly.
std::string learned_text(const LearnedRecord& record);
std::optional<LearnedRecord> parse_learned(std::string_view text);

}  // namespace stratalog
