// SPDX-License-Identifier: Apache-2.0
// Steps: what ranks do in a checkpoint or a restart, one step after another, in numbers that a
// machine can be asked the price of: who packs how much, who writes which bytes of which file, how
// many metadata operations and messages. forecast/save_steps.h makes them from the real plans,
// forecast/price.h prices them. Plain data; local.
#pragma once

#include <cstdint>
#include <vector>

namespace stratalog {

// As the reports of saves and restarts call them.
enum class Phase : std::uint8_t {
  kMetadata,
  kPack,
  kRoute,
  kEncode,
  kWrite,
  kRead,
  kSync,
  kCommit
};
inline constexpr int kPhaseCount = 8;

enum class StepKind : std::uint8_t {
  kPack,  // `bytes` of the busiest rank out of its index
  kDeflate,  // `bytes` of the busiest rank through deflate
  kCreate,  // `count` files; also renames
  kOpen,  // `count` opens
  kSmallRequests,  // `count` requests of a few bytes to the server of a file's first stripe
  kExchange,  // `bytes` and `count` messages of the busiest rank
  kAgree,  // `count` reductions over all ranks
  kWrite,  // `transfers` at the same time
  kRead,  // the same
  kSync,  // an fsync by everybody
  kSetStripes,  // `count` calls of lfs, one after another
};

// Consecutive bytes of a file that one process writes or reads.
struct Transfer {
  std::uint32_t file = 0;  // in Steps::files
  int rank = 0;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};

struct Step {
  Phase phase = Phase::kMetadata;
  StepKind kind = StepKind::kAgree;
  std::uint64_t bytes = 0;
  std::uint64_t count = 0;
  std::vector<Transfer> transfers;
};

// How a file lies on the servers; 0: as the machine does by default.
struct FileStripes {
  std::uint32_t count = 0;
  std::uint64_t bytes = 0;
};

struct Steps {
  int ranks = 1;
  std::vector<FileStripes> files;
  std::vector<Step> steps;
  std::uint64_t row_bytes = 0;  // rows of 64-bit numbers, all ranks
};

}  // namespace stratalog
