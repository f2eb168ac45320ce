// SPDX-License-Identifier: Apache-2.0
#include "bench/saved_sequence.h"

#include <utility>

#include "bench/growing_relation.h"
#include "model/multiset_hash.h"

namespace stratalog {
namespace {

constexpr std::size_t kPath = 0;
constexpr std::size_t kLastRound = 1;
constexpr std::size_t kEdges = 2;

}  // namespace

SavedSequence::Saved SavedSequence::hashed(HeldRelation relation) {
  const MultisetHash hash = relation.hash();
  return {.relation = std::move(relation), .hash = hash};
}

SavedSequence::SavedSequence(std::vector<HeldRelation> relations) {
  for (HeldRelation& relation : relations) saved_.push_back(hashed(std::move(relation)));
}

SavedSequence::SavedSequence(HeldRelation path, HeldRelation edges,
                             std::vector<std::uint64_t> sizes)
    : sizes_(std::move(sizes)) {
  last_.push_back(std::move(path));
  for (std::size_t i = 0; i < kEdges; ++i)
    saved_.push_back(hashed({last_.front().name(), RelationVersion::kTotal,  // go_to fills it
                             last_.front().column_order()}));
  new_.push_back(saved_.front());
  new_.push_back(hashed({edges.name(), edges.version(), edges.column_order()}));
  saved_.push_back(hashed(std::move(edges)));
}

void SavedSequence::go_to(std::size_t at) {
  if (!grows()) return;
  const HeldRelation& path = last_.front();
  saved_[kPath] = hashed(grow(path, sizes_, at, GrownPart::kTotal));
  saved_[kLastRound] = hashed(grow(path, sizes_, at, GrownPart::kLastRound));
  new_.front() = hashed(grow(path, sizes_, at, GrownPart::kGrowth));
}

std::uint64_t SavedSequence::row_bytes() const {
  std::uint64_t bytes = 0;
  for (const Saved& saved : saved_) bytes += saved.relation.row_bytes();
  return bytes;
}

std::uint64_t SavedSequence::rows() const {
  std::uint64_t rows = 0;
  for (const Saved& saved : saved_) rows += saved.relation.rows();
  return rows;
}

// As a run decides it (datalog/evaluate/saved_parts.h), with the counts of all ranks.
Status SavedSequence::add_parts(Comm& comm, const CheckpointWriter& writer,
                                SaveRequest& request) const {
  std::uint64_t rows[] = {saved_[kPath].relation.rows(), new_.front().relation.rows(),
                          saved_[kEdges].relation.rows()};
  STRATALOG_RETURN_IF_ERROR(comm.allreduce(rows, ReduceOp::kSum));
  const auto plan = [&](const Saved& of, std::uint64_t all, std::uint64_t growth) {
    const ChainFacts chain = writer.chain(of.relation.name(), RelationVersion::kTotal);
    const bool is_known = chain.generations != 0 && chain.rows + growth == all;
    return plan_part(ChainRules{}, chain,
                     {.growth = is_known ? GrowthKnowledge::kKnown : GrowthKnowledge::kNoBase,
                      .rows = all,
                      .growth_rows = growth,
                      .ranks = static_cast<std::uint64_t>(comm.size())});
  };
  request.base = writer.base();
  request.parts = {plan(saved_[kPath], rows[0], rows[1]),
                   {.part = ImagePart::kWhole, .choice = {}},
                   plan(saved_[kEdges], rows[2], 0)};
  return Status::ok();
}

Result<SaveRequest> SavedSequence::request(Comm& comm, const CheckpointWriter& writer,
                                           SequenceParts parts) const {
  SaveRequest request;
  if (parts == SequenceParts::kGrowth) {
    if (!grows()) return Status::invalid_argument("relations that do not grow have no chains");
    STRATALOG_RETURN_IF_ERROR(add_parts(comm, writer, request));
  }
  for (std::size_t i = 0; i < saved_.size(); ++i) {
    const bool is_all = request.parts.empty() || is_whole(request.parts[i].part);
    const Saved& shown = is_all ? saved_[i] : new_[i == kPath ? 0 : 1];
    request.images.push_back(shown.relation.image(shown.hash));
  }
  return request;
}

}  // namespace stratalog
