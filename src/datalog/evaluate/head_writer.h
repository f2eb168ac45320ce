// SPDX-License-Identifier: Apache-2.0
// HeadWriter: turns the bindings that a rule ends with into head tuples (or whole sets) and brings
// them to the home shard of the head relation, or to its mirror: into the queue where this rank
// owns them, to what leaves it otherwise. Where other ranks read the shard meanwhile, everything
// goes to a box (joint_shards.h). Tuples with values that other ranks do not know yet wait for the
// ranks' agreement, each once; the others do not. Local.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "datalog/evaluate/engine_state.h"
#include "datalog/evaluate/joint_box.h"
#include "datalog/evaluate/outbound.h"
#include "datalog/evaluate/rule_executor.h"
#include "model/value_agreement.h"

namespace stratalog::datalog {

class HeadWriter {
 public:
  HeadWriter(EngineState& state, const RulePlan& plan);

  // After the rule is bound: where its bindings end, to see whether head tuples can leave this
  // rank.
  void bind(const RuleExecutor& executor);
  // What leaves this rank goes here; null where nothing does.
  void use_outbound(Outbound* outbound) { outbound_ = outbound; }
  bool is_local() const { return local_; }

  Status write(const Batch& batch);
  // Borrows no set of an earlier batch any longer.
  void release_sets();
  // Sends on the tuples that waited for the agreement on new values.
  void release(const CellRemapping& remapping);

 private:
  struct Target {
    Shard* shard = nullptr;
    std::vector<std::uint32_t> order;  // declared columns in index order
    std::vector<std::uint32_t> placement;  // declared columns
    const BucketMap* buckets = nullptr;  // where skew was found
    bool always_mine = false;  // every head tuple of this rule is owned here
    bool takes_sets = false;  // its last column is the carried one
  };

  Status write_batch(const Batch& batch, std::uint32_t rows);
  Status check_memory();
  void form_columns(const Batch& batch);
  std::uint32_t keep_waiting(const Batch& batch);
  void forget_duplicates();
  void write_pairs(const Batch& batch, std::uint32_t rows);
  void write_tuples(std::uint32_t rows);
  void write_sets(const Batch& batch);
  void expand_sets(const Batch& batch);
  void box_batch(const Batch& batch, std::uint32_t rows);
  int owner(std::span<const Cell> tuple);

  EngineState& state_;
  const RulePlan& plan_;
  const Rule& rule_;
  RelationData& head_;
  std::optional<Target> target_;
  bool local_ = true;
  bool chooses_ = false;  // the head has a choice-domain: tuples wait as candidates
  bool creates_values_ = false;
  Outbound* outbound_ = nullptr;
  JointBox* box_ = nullptr;  // where ranks read each other's shards: takes everything
  std::vector<std::vector<Cell>> columns_;  // declared head columns of the batch at hand
  std::vector<Cell> created_;  // tuples that wait, in declared order
  std::uint64_t rows_to_look_ = 0;  // before memory is looked at again
  std::size_t most_created_;  // of which this many, in cells, may be there before they are compared
  std::vector<std::uint8_t> waits_;  // scratch: by row of the batch
  std::vector<Cell> keys_;  // scratch
  std::vector<Cell> tuple_;  // scratch
  std::vector<Cell> placed_;  // scratch
  std::vector<Cell> leaving_;  // scratch
  std::uint32_t carried_column_ = 0;  // declared
};

}  // namespace stratalog::datalog
