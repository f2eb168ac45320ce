// SPDX-License-Identifier: Apache-2.0
// RunProfile: where the time of one run went, by rule, by phase and rank, over rounds and over
// time, and how evenly the tuples lie on the ranks. Plain values between the engine, which measures
// (datalog/evaluate/run_meter.h), the file (profile_json.h) and the page (profile_page.h). Says
// nothing about how anything is measured or drawn.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stratalog {

// The phases of a run in the order in which it passes through them.
inline constexpr std::array<std::string_view, 12> kProfilePhases = {
    "load",   "restore", "join", "exchange", "deduplicate", "pack",
    "encode", "write",   "sync", "commit",   "output",      "other"};

struct ProfileStratum {
  std::string relations;  // "path, reach"
  std::string strategy;  // "once", "semi-naive", "pivot"
  std::uint64_t iterations = 0;  // rounds with new tuples
  std::uint64_t tuples = 0;
  std::uint64_t derivations = 0;  // all ranks; duplicates included
  std::uint64_t exchanged_bytes = 0;  // sent to other ranks, all ranks
  double seconds = 0;
};

// What a row of the table of rules stands for.
enum class ProfileWork : std::uint8_t {
  kRule,  // one rule, or one of its semi-naive forms
  kSweep,  // the sweeps of a pivot stratum, which run all its recursive rules at once
};

struct ProfileRule {
  std::uint32_t stratum = 0;  // index into RunProfile::strata
  ProfileWork work = ProfileWork::kRule;
  std::string text;
  std::string file;
  std::uint32_t line = 0;
  std::string delta;  // the relation whose new tuples drive this form; empty: all tuples
  std::string order;  // how its body was joined, as `explain` writes it
  std::uint64_t evaluations = 0;  // on the rank that did most
  double seconds = 0;  // all ranks together
  double slowest_seconds = 0;  // of the slowest rank
  std::uint64_t derivations = 0;  // all ranks; duplicates included
  // Tuples that this form derived first. Unknown where several forms fill a relation and tuples
  // travel between ranks.
  std::optional<std::uint64_t> new_tuples;
};

struct ProfileRank {
  std::array<double, kProfilePhases.size()> seconds{};
  double total_seconds = 0;
  std::uint64_t sent_bytes = 0;
  std::uint64_t peak_memory_bytes = 0;  // accounted, of relations
  std::uint64_t rows = 0;  // that lie on this rank at the end
};

// Consecutive rounds of a stratum. Long runs keep several rounds in one point.
struct ProfileRounds {
  std::uint32_t stratum = 0;
  std::uint64_t first = 1;  // round, from 1
  std::uint64_t rounds = 1;
  std::uint64_t new_tuples = 0;  // sum
  std::uint64_t largest = 0;  // of a single round
  std::optional<double> seconds;  // sum; unknown in sweeps, which do not run round by round
};

// How things stood at one moment.
struct ProfileSample {
  double at_seconds = 0;  // since the start
  std::uint32_t stratum = 0;
  std::uint64_t memory_bytes = 0;  // all ranks
  std::uint64_t tuples = 0;  // of the running stratum
  std::uint64_t sent_bytes = 0;  // by all ranks, so far
  bool is_estimate = false;  // rank 0's own numbers times the number of ranks
};

struct ProfileRelation {
  std::string name;
  std::uint64_t rows = 0;  // all ranks
  std::uint64_t largest_rows = 0;  // on the rank that holds most
  std::uint64_t smallest_rows = 0;
  std::uint32_t largest_rank = 0;
};

struct ProfileCheckpoint {
  std::string generation;
  std::uint64_t bytes = 0;
  double seconds = 0;
};

struct RunProfile {
  std::string program;
  std::uint32_t ranks = 1;
  std::string resumed_from;  // generation; empty: a fresh start
  double total_seconds = 0;
  std::uint64_t peak_memory_bytes = 0;  // all ranks together
  std::vector<ProfileStratum> strata;
  std::vector<ProfileRule> rules;
  std::vector<ProfileRank> by_rank;
  std::vector<ProfileRounds> rounds;
  std::vector<ProfileSample> samples;
  std::vector<ProfileRelation> relations;
  std::vector<ProfileCheckpoint> checkpoints;
};

}  // namespace stratalog
