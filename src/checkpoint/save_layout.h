// SPDX-License-Identifier: Apache-2.0
// SaveLayout: what the policy decided for one save, with the facts that it decided from, and the
// files that follow: which ranks and which datasets share one. The same on every rank. plan_save is
// collective; everything else is local.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "comm/core_share.h"
#include "policy/plan_layout.h"

namespace stratalog {

struct SaveLayout {
  LayoutFacts facts;
  LayoutPlan plan;
  ShardEncoding encoding = ShardEncoding::kCompact;  // of tuples, where the mode has one
  std::vector<std::size_t> images;  // per dataset of the facts, its image in the request

  std::uint32_t file_of(int rank) const {
    return plan.file_of_rank.empty() ? 0 : plan.file_of_rank[static_cast<std::size_t>(rank)];
  }
  // The lowest rank of a group of ranks.
  int leader_of(std::uint32_t file) const;
  // Datasets [begin, end) lie in one file: relations_per_file of them.
  struct Batch {
    std::size_t begin = 0;
    std::size_t end = 0;
  };
  std::vector<Batch> batches() const;
  // First row of each rank of the group within the group's dataset, and the total: ranks of other
  // groups have none.
  std::vector<std::uint64_t> first_rows(std::size_t dataset, std::uint32_t file) const;
};

// Facts about machine and file system that do not change during a job.
struct JobFacts {
  FileSystemFacts file_system;
  std::vector<int> node_of_rank;
  CoreShare cores;  // of the ranks that have the fewest to spare
};

// Collective.
// About how many bytes an encoding makes of a byte of rows, in thousandths.
std::uint32_t encoded_milli(ShardEncoding encoding);

Result<JobFacts> gather_job_facts(Comm& comm, Store& store);

// Collective. InvalidArgument for wishes that cannot be.
Result<SaveLayout> plan_save(Comm& comm, const JobFacts& job, const SaveRequest& request,
                             const LayoutWishes& wishes, ShardEncoding encoding);

}  // namespace stratalog
