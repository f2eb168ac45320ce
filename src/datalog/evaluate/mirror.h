// SPDX-License-Identifier: Apache-2.0
// Mirrored relations: while the growing relations of a stratum are small, every rank keeps all of
// their tuples in a shard of its own beside its part of the home shard. Rules then find everything
// where they are: each rank joins its share of the delta, drops what is known already, and only
// new tuples travel, to everybody. A delta of a few tuples is joined by every rank as a whole, and
// nothing travels at all. Relations that have become large are dealt by their searched columns.
// Collective where marked.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/status.h"
#include "comm/comm.h"
#include "datalog/evaluate/engine_state.h"
#include "route/mail_format.h"

namespace stratalog::datalog {

// A delta of mirrored relations up to this size is joined by every rank as a whole: that takes less
// time than to tell each other what the parts have given.
inline constexpr std::uint64_t kAloneTuples = 1024;

// Whether relations of a stratum that hold `rows` tuples together are to be mirrored. The limit is
// one of all copies together, so that neither memory nor what travels grows with the number of
// ranks. Where no binding would travel either way, copies pay only while rounds are a matter of
// latency: while there is little at all, or in every round (`delta`). Local, the same on all ranks.
enum class DeltaSize : std::uint8_t { kTiny, kAny };
bool are_mirrored(const EngineState& state, std::uint32_t stratum, std::uint64_t rows,
                  DeltaSize delta);

// The shard with all tuples of a mirrored relation.
Shard& mirror_of(RelationData& relation);

// Ends a round of mirrored relations, one after the other: first what this rank has derived is told
// from what is known, then what all ranks have found is united, then it joins the totals. A round
// in which one rank alone finds so much that the relations will be dealt brings it to its owners at
// once: the mirrors have then been outgrown, know nothing of that round and must be dealt next.
class MirrorRound {
 public:
  MirrorRound(EngineState& state, std::uint32_t stratum);

  // Collective. Mirrors of what was dealt so far, all of which is new. Rules must be bound anew.
  Status open();
  // Local.
  void unite();
  // Collective; every rank calls it, also after an error of its own. The status is this rank's own
  // unless the collective failed.
  Status share();
  // Local, the same on all ranks.
  bool is_outgrown() const { return outgrown_; }
  // Local. All indices take over the new tuples.
  void advance();

  // Local, the same on all ranks after advance().
  std::uint64_t new_tuples() const;
  // By position in Stratum::relations; of a nullary relation whether somebody has derived it.
  std::vector<std::uint64_t> rows_of_members() const;

 private:
  bool finds_too_much();
  Status pack_found();
  Status pack_homes();
  void pack(int stream, std::span<const Cell> prefix, const IntSet& cells);
  void pack_run(int stream, std::uint32_t arity);
  enum class Senders : std::uint8_t { kOthers, kAll };
  Status unite_found(const Received& received, Senders senders);
  Status send_home();
  void keep_home_part(RelationData& relation);

  EngineState& state_;
  std::uint32_t stratum_;
  const Stratum& members_;
  std::vector<RelationId> relations_;  // with columns
  std::vector<std::uint32_t> arities_;
  bool outgrown_ = false;
  MailWords out_;
  WordBuffer<Cell> run_;  // tuples of small sets
  std::vector<Cell> key_;  // scratch
  std::vector<Cell> tuple_;  // scratch
};

// Collective. Deals the mirrored relations of a stratum by their searched columns, total and delta.
Status deal_mirrored(EngineState& state, std::uint32_t stratum);

}  // namespace stratalog::datalog
