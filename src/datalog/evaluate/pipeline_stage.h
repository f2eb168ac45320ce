// SPDX-License-Identifier: Apache-2.0
// Pipeline::Stage: one step of a pipeline with what it reads, its output batch and its scratch
// space. For pipeline.cc (how batches flow, and steps that compute) and pipeline_atoms.cc (steps
// that read relations). Local.
#pragma once

#include <array>
#include <deque>
#include <memory>
#include <vector>

#include "datalog/evaluate/aggregate_fold.h"
#include "datalog/evaluate/pipeline.h"

namespace stratalog::datalog {

struct Pipeline::Stage {
  const Step* step = nullptr;
  StepSource source;
  Batch out;
  std::vector<VariableId> copied;  // variables that pass through this step
  bool passes_sets = false;  // the carried set was there before this step
  std::array<Cell, kMaxArity> bound{};  // by index column: what the current index row binds
  std::vector<RowId> rows;  // scratch: rows under a prefix
  std::vector<Cell> keys;  // scratch: search prefixes of a batch
  std::vector<const Index*> indices;  // scratch: where each row of a batch searches
  std::vector<RowId> found;  // scratch: rows of a batch
  std::deque<IntSet> made_sets;  // in batches further on, until those are passed on
  std::vector<Cell> cells;  // scratch: a set in the making
  std::unique_ptr<Pipeline> inner;  // aggregates
  std::unique_ptr<AggregateFold> fold;
  Batch inner_in;
};

}  // namespace stratalog::datalog
