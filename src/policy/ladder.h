// SPDX-License-Identifier: Apache-2.0
// LadderChoice: which steps of the tuning ladder O1..O7 (HDF5-OPT, table 1) mode hdf5-opt takes,
// and which details it takes as the paper prints them although they do harm or nothing on today's
// HDF5. The text form is that of --hdf5-opt. Pure; local.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace stratalog {

enum class LadderStep : std::uint8_t {
  kTinyGather,  // O1: below 10 MB rank 0 collects and writes alone
  kSerialCreate,  // O2: rank 0 creates the file, all reopen it and write
  kEarlyAllocation,  // O3: space early, no fill values
  kLayout,  // O4: contiguous, or chunked and deflated
  kHints,  // O5: ROMIO hints by size tier
  kTuning,  // O6: alignment, metadata cache, buffers
  kPhases,  // O7: phases if ranks differ much
};
inline constexpr int kLadderSteps = 7;

// Details as printed. Each belongs to a step and has an effect only where that step is taken.
enum class PrintedDetail : std::uint8_t {
  kEarlyDeflate,  // O3: early allocation of chunked data sets too
  kTransferBuffer,  // O2: a transfer buffer of 64 or 256 MB
  kZeroAggregators,  // O5: N/4, N/8, N/16 aggregators without a lower bound, whatever the stripes;
                     // buffers beyond the output
  kNoIndependentWrites,  // O5: romio_no_indep_rw
  kHintsLocal,  // O5: collective buffering on local file systems, too
  kAlignEverything,  // O6: alignment whatever the sizes of the data sets
  kCacheCall,  // O6: H5Pset_cache
  kSieveBuffer,  // O6: H5Pset_sieve_buf_size
  kDeflateLocal,  // O4: chunks are deflated on local file systems, too
  kEmptyRanks,  // O7 and O4: ranks without rows count as the smallest
};
inline constexpr int kPrintedDetails = 10;

struct StepRow {
  LadderStep step;
  std::string_view name;  // "O1"
  std::string_view what;
};
std::span<const StepRow> ladder_steps();

struct DetailRow {
  PrintedDetail detail;
  LadderStep step;
  std::string_view name;  // "early-deflate"
  std::string_view harm;  // what it does on today's HDF5, and what hdf5-opt does instead
};
std::span<const DetailRow> printed_details();

class LadderChoice {
 public:
  // All steps, nothing as printed.
  static LadderChoice all();
  static LadderChoice none() { return {}; }

  bool takes(LadderStep step) const { return ((steps_ >> static_cast<int>(step)) & 1U) != 0; }
  bool as_printed(PrintedDetail detail) const {
    return ((printed_ >> static_cast<int>(detail)) & 1U) != 0;
  }
  void take(LadderStep step) { steps_ |= 1U << static_cast<int>(step); }
  void print(PrintedDetail detail) { printed_ |= 1U << static_cast<int>(detail); }
  friend bool operator==(const LadderChoice&, const LadderChoice&) = default;

 private:
  std::uint32_t steps_ = 0;
  std::uint32_t printed_ = 0;
};

// "O1,O3,printed:sieve": steps and details; a detail brings its step along. "printed:O6" is a step
// with all its details, "all" all steps, "printed" all steps with all details, "none" no step.
// InvalidArgument names the word and what there is.
Result<LadderChoice> parse_ladder(std::string_view text);
// The shortest text that parse_ladder understands as `choice`.
std::string ladder_text(const LadderChoice& choice);

}  // namespace stratalog
