// SPDX-License-Identifier: Apache-2.0
#include "policy/ladder.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

namespace stratalog {
namespace {

constexpr std::array<StepRow, kLadderSteps> kSteps = {{
    {LadderStep::kTinyGather, "O1", "gather tiny outputs on rank 0"},
    {LadderStep::kSerialCreate, "O2", "rank 0 creates the file, then all write"},
    {LadderStep::kEarlyAllocation, "O3", "early allocation, no fill values"},
    {LadderStep::kLayout, "O4", "contiguous, or chunked and deflated, by size and skew"},
    {LadderStep::kHints, "O5", "ROMIO hints by size tier"},
    {LadderStep::kTuning, "O6", "alignment, metadata cache and buffers"},
    {LadderStep::kPhases, "O7", "phases if ranks differ much"},
}};

constexpr std::array<DetailRow, kPrintedDetails> kDetails = {{
    {PrintedDetail::kEarlyDeflate, LadderStep::kEarlyAllocation, "early-deflate",
     "early allocation writes a compressed fill chunk for every chunk of a deflated data set, and "
     "each real write then moves its chunk; hdf5-opt allocates deflated data sets incrementally"},
    {PrintedDetail::kTransferBuffer, LadderStep::kSerialCreate, "transfer-buffer",
     "the buffer is used for type conversion only, and there is none; hdf5-opt leaves it alone"},
    {PrintedDetail::kZeroAggregators, LadderStep::kHints, "cb-nodes",
     "integer division gives 0 aggregators on few ranks, fewer than a file has stripes on many, "
     "and "
     "at scale the buffers hold more than the output; hdf5-opt takes at least 1, on Lustre as many "
     "as stripes, and caps the buffers at the output"},
    {PrintedDetail::kNoIndependentWrites, LadderStep::kHints, "no-indep-rw",
     "ROMIO then opens the file on aggregators only, but HDF5 writes metadata from any rank, which "
     "has hung programs; hdf5-opt leaves it out"},
    {PrintedDetail::kHintsLocal, LadderStep::kHints, "hints-local",
     "on a local disk one kernel merges the writes of all ranks, and sending rows to aggregators "
     "first takes more than twice the time; there hdf5-opt and shared-opt let every rank write its "
     "own, unless --aggregators says otherwise"},
    {PrintedDetail::kAlignEverything, LadderStep::kTuning, "align-all",
     "small data sets are padded to many times their size; hdf5-opt aligns only where data sets "
     "average four alignments"},
    {PrintedDetail::kCacheCall, LadderStep::kTuning, "set-cache",
     "H5Pset_cache has ignored its metadata argument since HDF5 1.8 and sets the chunk cache; "
     "hdf5-opt uses H5Pset_mdc_config"},
    {PrintedDetail::kSieveBuffer, LadderStep::kTuning, "sieve",
     "the MPI-IO driver does no sieving; hdf5-opt leaves it out"},
    {PrintedDetail::kDeflateLocal, LadderStep::kLayout, "deflate-local",
     "deflate 1 gives a fifth of the bytes a second that a local disk takes, and saves nothing on "
     "the way to it; hdf5-opt deflates where data goes over a network, or if --deflate says so"},
    {PrintedDetail::kEmptyRanks, LadderStep::kPhases, "empty-ranks",
     "one rank without rows makes the ratio infinite, whatever the others hold; hdf5-opt takes the "
     "smallest among ranks with rows"},
}};

constexpr std::string_view kPrintedPrefix = "printed:";

void take_as_printed(LadderChoice& choice, LadderStep step) {
  choice.take(step);
  for (const DetailRow& row : kDetails)
    if (row.step == step) choice.print(row.detail);
}

bool take_printed_word(LadderChoice& choice, std::string_view word) {
  for (const StepRow& row : kSteps)
    if (row.name == word) {
      take_as_printed(choice, row.step);
      return true;
    }
  for (const DetailRow& row : kDetails)
    if (row.name == word) {
      choice.take(row.step);
      choice.print(row.detail);
      return true;
    }
  return false;
}

bool take_word(LadderChoice& choice, std::string_view word) {
  if (word == "none") return true;
  if (word.starts_with(kPrintedPrefix))
    return take_printed_word(choice, word.substr(kPrintedPrefix.size()));
  for (const StepRow& row : kSteps) {
    if (word == row.name || word == "all") choice.take(row.step);
    if (word == "printed") take_as_printed(choice, row.step);
    if (word == row.name) return true;
  }
  return word == "all" || word == "printed";
}

}  // namespace

std::span<const StepRow> ladder_steps() { return kSteps; }
std::span<const DetailRow> printed_details() { return kDetails; }

LadderChoice LadderChoice::all() {
  LadderChoice choice;
  for (const StepRow& row : kSteps) choice.take(row.step);
  return choice;
}

Result<LadderChoice> parse_ladder(std::string_view text) {
  LadderChoice choice;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string_view word = text.substr(begin, end - begin);
    if (word == "none" && word != text)
      return Status::invalid_argument(
          fmt::format("\"none\" takes no step, and stands alone; found \"{}\"", text));
    if (!take_word(choice, word)) {
      std::vector<std::string_view> details;
      details.reserve(kDetails.size());
      for (const DetailRow& row : kDetails) details.push_back(row.name);
      return Status::invalid_argument(fmt::format(
          "\"{}\" is no step of the ladder; there are O1 to O7, printed:O1 to printed:O7, "
          "printed:{}, all, printed, and none alone",
          word, fmt::join(details, ", printed:")));
    }
    begin = end + 1;
  }
  return choice;
}

std::string ladder_text(const LadderChoice& choice) {
  if (choice == LadderChoice::none()) return "none";
  if (choice == LadderChoice::all()) return "all";
  std::vector<std::string> words;
  for (const StepRow& row : kSteps) {
    if (!choice.takes(row.step)) continue;
    std::vector<std::string> details;
    for (const DetailRow& detail : kDetails)
      if (detail.step == row.step && choice.as_printed(detail.detail))
        details.push_back(fmt::format("printed:{}", detail.name));
    if (details.empty()) details.emplace_back(row.name);
    words.insert(words.end(), details.begin(), details.end());
  }
  return fmt::format("{}", fmt::join(words, ","));
}

}  // namespace stratalog
