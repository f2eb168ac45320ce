// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/fold.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "checkpoint/own_shards.h"
#include "checkpoint/stored_state.h"
#include "checkpoint/told.h"
#include "model/multiset_hash.h"
#include "model/set_union.h"
#include "read/shard_cursor.h"

namespace stratalog {
namespace {

bool is_at(const ShardCursor& cursor, std::span<const Cell> prefix) {
  const TupleGroup* head = cursor.head();
  return head != nullptr &&
         std::equal(head->prefix.begin(), head->prefix.end(), prefix.begin(), prefix.end());
}

// Unites what the parts of a chain have of a row.
class RowOfParts {
 public:
  explicit RowOfParts(std::vector<ShardCursor> parts) : parts_(std::move(parts)) {}

  // Calls give(group) -> Status with the row's elements, as few groups as they come in.
  template <typename Give>
  Status take(const TupleGroup& growth, Give&& give) {
    std::size_t last = parts_.size();
    std::size_t with_row = 0;
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      if (!is_at(parts_[i], growth.prefix)) continue;
      last = i;
      ++with_row;
    }
    if (with_row == 0) return growth.set.count == 0 ? Status::ok() : give(growth);
    if (with_row == 1 && growth.set.count == 0) return hand_on(parts_[last], growth.prefix, give);
    together_.clear();
    if (growth.set.count != 0) together_.add(growth.set);
    for (ShardCursor& part : parts_)
      while (is_at(part, growth.prefix)) {
        together_.add(part.head()->set);
        STRATALOG_RETURN_IF_ERROR(read(part.advance()));
      }
    return give({.prefix = growth.prefix, .set = together_.view()});
  }
  bool is_over() const {
    return std::all_of(parts_.begin(), parts_.end(),
                       [](const ShardCursor& part) { return part.head() == nullptr; });
  }
  const Status& failure() const { return failure_; }  // of reading

 private:
  Status read(const Status& status) {
    if (!status.is_ok()) failure_ = status;
    return status;
  }
  // Most rows lie in one part.
  template <typename Give>
  Status hand_on(ShardCursor& part, std::span<const Cell> prefix, Give&& give) {
    while (is_at(part, prefix)) {
      STRATALOG_RETURN_IF_ERROR(give(*part.head()));
      STRATALOG_RETURN_IF_ERROR(read(part.advance()));
    }
    return Status::ok();
  }

  std::vector<ShardCursor> parts_;
  SetUnion together_{kCellBytes};  // as an index would show it
  Status failure_;
};

Result<RowOfParts> open_parts(const Comm& comm, Store& store, const Manifest& manifest,
                              const RelationImage& image) {
  const auto relation =
      std::find_if(manifest.relations.begin(), manifest.relations.end(), [&](const auto& known) {
        return known.name == image.name && known.version == image.version;
      });
  if (relation == manifest.relations.end())
    return Status::corruption(fmt::format("it has no relation {}", image.name));
  std::vector<ShardCursor> parts;
  for (const ManifestShard* shard : shards_of_rank(
           manifest, static_cast<std::uint32_t>(relation - manifest.relations.begin()), comm)) {
    STRATALOG_ASSIGN_OR_RETURN(ShardCursor part, ShardCursor::open(store, manifest, *shard));
    parts.push_back(std::move(part));
  }
  return RowOfParts(std::move(parts));
}

}  // namespace

Status Fold::damaged(const Status& status) {
  damage_ = status.with_context(fmt::format("{}, which is to be folded", base_));
  return damage_;
}

Status Fold::open_base() {
  if (found_) return Status::ok();
  STRATALOG_ASSIGN_OR_RETURN(found_, open_generation(store_, base_));
  return Status::ok();
}

Status Fold::walk(const RelationImage& growth, const GroupVisitor& visit) {
  const Status opened = open_base();
  if (!opened.is_ok()) return damaged(opened);
  Result<RowOfParts> parts = open_parts(comm_, store_, found_->manifest, growth);
  if (!parts.is_ok()) return damaged(parts.status());
  RowOfParts& rows = parts.value();
  GroupHasher hasher(growth.column_order);
  Folded folded;
  const Status walked = growth.for_each_group([&](const TupleGroup& group) {
    return rows.take(group, [&](const TupleGroup& whole) {
      folded.rows += whole.set.count;
      folded.hash += hasher.hash(whole);
      return visit(whole);
    });
  });
  if (!rows.failure().is_ok()) return damaged(rows.failure());
  STRATALOG_RETURN_IF_ERROR(walked);
  if (!rows.is_over())
    return damaged(Status::corruption(
        fmt::format("relation {} has rows that are not known, or in another order", growth.name)));
  folded_[{growth.name, growth.version}] = folded;
  return Status::ok();
}

Fold::Folded Fold::folded(const RelationImage& image) const {
  const auto found = folded_.find({image.name, image.version});
  return found == folded_.end() ? Folded() : found->second;
}

bool has_folds(const SaveRequest& request) {
  return std::any_of(request.parts.begin(), request.parts.end(),
                     [](const PartPlan& plan) { return plan.part == ImagePart::kFolded; });
}

void walk_through(Fold& fold, const ChainBase& base, SaveRequest& request) {
  for (std::size_t i = 0; i < request.parts.size(); ++i) {
    if (request.parts[i].part != ImagePart::kFolded) continue;
    RelationImage& image = request.images[i];
    if (i < request.batch_walks.size()) request.batch_walks[i] = {};
    image.for_each_group = [&fold, growth = image](const GroupVisitor& visit) {
      return fold.walk(growth, visit);
    };
    image.rows += base.own_rows(image);
  }
}

Status check_folds(Comm& comm, const SaveRequest& request, const Fold& fold,
                   const ChainBase& base) {
  std::vector<std::uint64_t> sums;  // what was written, and what is new, of each folded image
  for (std::size_t i = 0; i < request.images.size(); ++i) {
    if (part_of(request, i) != ImagePart::kFolded) continue;
    const RelationImage& image = request.images[i];
    const Fold::Folded folded = fold.folded(image);
    const MultisetHash growth = hash_of_image(request, i);
    sums.insert(sums.end(), {folded.rows, folded.hash.low, folded.hash.high,
                             image.rows - base.own_rows(image), growth.low, growth.high});
  }
  STRATALOG_RETURN_IF_ERROR(comm.allreduce(sums, ReduceOp::kSum));
  Status checked;
  std::size_t at = 0;
  for (std::size_t i = 0; comm.rank() == 0 && i < request.images.size(); ++i) {
    if (part_of(request, i) != ImagePart::kFolded) continue;
    const std::uint64_t* const sum = sums.data() + (6 * at++);
    const ManifestRelation* const old = base.relation(request.images[i]);
    if (old != nullptr && sum[0] == old->rows + sum[3] && sum[1] == old->hash.low + sum[4] &&
        sum[2] == old->hash.high + sum[5])
      continue;
    checked = Status::corruption(fmt::format(
        "relation {}: {} rows were read from {} and united with {} new ones, which "
        "gives {} rows with another content than expected",
        request.images[i].name, old == nullptr ? 0 : old->rows, base.generation(), sum[3], sum[0]));
  }
  return tell_status(comm, checked);
}

}  // namespace stratalog
