// SPDX-License-Identifier: Apache-2.0
// What a load brings back, compared tuple by tuple with the sample relations that were saved.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "fault/sample_relations.h"
#include "write/memory_store.h"

namespace stratalog::sample {

// Every tuple of `relations` came once, and no other. Relations without columns have no groups:
// their rows are in the StoredState.
inline void expect_collected(const Collected& collected,
                             const std::vector<SampleRelation>& relations) {
  EXPECT_EQ(collected.duplicates(), 0U);
  for (std::size_t i = 0; i < relations.size(); ++i)
    if (relations[i].arity != 0) {
      EXPECT_EQ(collected.tuples(i), relations[i].tuples) << relations[i].name;
    }
}

// Loads the newest generation on this process alone. Whichever iteration it says it is of, its
// tuples must be sample_relations(iteration, size).
inline Result<LoadReport> load_and_compare(Store& store, std::uint64_t size) {
  const auto self = make_self_comm();
  Collected collected;
  std::vector<StoredRelation> stored;
  STRATALOG_ASSIGN_OR_RETURN(
      LoadReport report, load_checkpoint(*self, store, {}, sink_into(collected, *self, stored)));
  expect_collected(collected, sample_relations(report.state.iteration, size));
  return report;
}

// Whatever is valid is what was written.
inline void expect_valid_generations_verify(const std::shared_ptr<MemoryDisk>& disk) {
  const auto store = open_memory_store(disk);
  const auto listed = list_generations(*store);
  ASSERT_TRUE(listed.is_ok());
  for (const GenerationSummary& generation : listed.value()) {
    if (generation.condition != GenerationCondition::kValid) continue;
    const auto report = verify_generation(*store, generation.name, VerifyDepth::kContent);
    ASSERT_TRUE(report.is_ok());
    for (const std::string& problem : report.value().problems) ADD_FAILURE() << problem;
  }
}

}  // namespace stratalog::sample
