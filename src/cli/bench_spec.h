// SPDX-License-Identifier: Apache-2.0
// BenchSpec: what `stratalog bench worker` is to measure, from the JSON that the Python front
// writes: data, strategies, repeats. docs/bench.md names the fields. Pure; local.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "bench/raw_peer.h"
#include "bench/saved_sequence.h"
#include "bench/synthetic_relation.h"
#include "checkpoint/checkpoint.h"
#include "policy/ladder.h"

namespace stratalog::cli {

// Relations to save: made from a seed, or taken from a checkpoint.
struct BenchData {
  std::string name;
  std::string checkpoint;  // folder; empty: synthetic
  std::string generation;  // empty: the newest
  std::uint64_t bytes = 0;  // of rows of 64-bit numbers, all ranks
  std::uint32_t columns = 2;
  RankShare share = RankShare::kBalanced;
  Texture texture = Texture::kClosure;
  std::uint64_t seed = 1;
  // Synthetic: how large the relation is at each checkpoint of a sequence, in any unit, `bytes` at
  // the last one. Empty: it does not grow.
  std::vector<std::uint64_t> grows;
};

enum class KeepFiles : std::uint8_t { kNo, kYes };

struct BenchCase {
  std::string name;
  std::optional<RawFiles> raw;  // a peer without a checkpoint
  CheckpointMode mode = CheckpointMode::kFilePerProcess;
  ShardEncoding encoding = ShardEncoding::kCompact;
  LadderChoice ladder = LadderChoice::all();
  std::uint32_t files = 0;  // as LayoutWishes::files
  Durability durability = Durability::kFull;
  SequenceParts parts = SequenceParts::kWhole;
  std::uint32_t saves = 1;  // by one writer, of what does not grow
  KeepFiles keep = KeepFiles::kNo;  // the last one written stays, below BenchSpec::directory
  std::string stored;  // no save: restart from this folder
};

struct BenchSpec {
  std::string directory;  // work folder; each case has a folder of its own in it
  std::vector<BenchData> data;
  std::vector<BenchCase> cases;
  std::vector<ReadParts> restarts;  // after each save
  std::uint32_t repeats = 1;
  std::uint32_t earlier_repeats = 0;  // of the same cases, which decide their order in this run
  double seconds = 0;  // no case begins later than this; 0: no limit
};

// InvalidArgument names the field and what it may be.
Result<BenchSpec> parse_bench_spec(std::string_view text);

}  // namespace stratalog::cli
