// SPDX-License-Identifier: Apache-2.0
// What modes auto and hdf5-auto go by, and how its choices are named in a request.
// gather_auto_facts is collective, the rest is pure and local.
#pragma once

#include "base/result.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/save_layout.h"
#include "comm/comm.h"
#include "commit/learned_record.h"
#include "policy/learning.h"

namespace stratalog {

// What a save without a learned mode does.
LayoutOption option_of(CheckpointMode mode, const LayoutWishes& wishes);
// The encoding of a choice; `asked` where it leaves that open.
ShardEncoding encoding_of(TupleCoding coding, ShardEncoding asked);
// The wishes with the choice in the place of what they leave open.
LayoutWishes wishes_with(const LayoutOption& option, const LayoutWishes& wishes);
// Collective, and the same everywhere even if ranks were given different lists.
Result<AutoFacts> gather_auto_facts(Comm& comm, const JobFacts& job, const WriterOptions& options,
                                    const SaveRequest& request);

// On what this rank would say that a save is measured.
MeasuredOn measured_on(const AutoFacts& facts, const WriterOptions& options,
                       const SaveRequest& request, const Store& store);

}  // namespace stratalog
