// SPDX-License-Identifier: Apache-2.0
#include "bench/held_relation.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "model/multiset_hash.h"

namespace stratalog {
namespace {

Cell first_element(const SetView& set) {
  switch (set.kind) {
    case SetKind::kArray:
      return set.values.front();
    case SetKind::kBitmap:
      for (std::size_t w = 0; w < set.words.size(); ++w)
        if (set.words[w] != 0)
          return static_cast<Cell>(set.base + (w * 64) +
                                   static_cast<std::size_t>(std::countr_zero(set.words[w])));
      return set.base;
    default:
      return set.base + set.offsets.front();
  }
}

template <typename Pool>
std::uint64_t append(Pool& pool, std::span<const typename Pool::value_type> entries) {
  const std::uint64_t begin = pool.size();
  pool.insert(pool.end(), entries.begin(), entries.end());
  return begin;
}

}  // namespace

HeldRelation::HeldRelation(std::string name, RelationVersion version,
                           std::vector<std::uint32_t> column_order)
    : name_(std::move(name)), version_(version), column_order_(std::move(column_order)) {}

void HeldRelation::add(const TupleGroup& group) {
  const SetView& set = group.set;
  Record record{.count = set.count, .base = set.base, .kind = set.kind};
  record.prefix = append(cells_, group.prefix);
  switch (set.kind) {
    case SetKind::kArray:
      record.begin = append(values_, set.values);
      record.size = static_cast<std::uint32_t>(set.values.size());
      break;
    case SetKind::kBitmap:
      record.begin = append(words_, set.words);
      record.size = static_cast<std::uint32_t>(set.words.size());
      break;
    default:
      record.begin = append(offsets_, set.offsets);
      record.size = static_cast<std::uint32_t>(set.offsets.size());
      break;
  }
  rows_ += set.count;
  records_.push_back(record);
}

void HeldRelation::add_array(std::span<const Cell> prefix, std::span<const Cell> values) {
  SetView set;
  set.values = values;
  set.count = values.size();
  add({.prefix = prefix, .set = set});
}

TupleGroup HeldRelation::view(const Record& record) const {
  TupleGroup group;
  const std::size_t width = column_order_.size() - 1;
  group.prefix = std::span(cells_).subspan(record.prefix, width);
  group.set.kind = record.kind;
  group.set.base = record.base;
  group.set.count = record.count;
  switch (record.kind) {
    case SetKind::kArray:
      group.set.values = std::span(values_).subspan(record.begin, record.size);
      break;
    case SetKind::kBitmap:
      group.set.words = std::span(words_).subspan(record.begin, record.size);
      break;
    default:
      group.set.offsets = std::span(offsets_).subspan(record.begin, record.size);
      break;
  }
  return group;
}

void HeldRelation::sort_groups() {
  const auto precedes = [this](const Record& a, const Record& b) {
    const TupleGroup left = view(a);
    const TupleGroup right = view(b);
    const auto order = std::lexicographical_compare_three_way(
        left.prefix.begin(), left.prefix.end(), right.prefix.begin(), right.prefix.end());
    return order < 0 || (order == 0 && first_element(left.set) < first_element(right.set));
  };
  if (!std::is_sorted(records_.begin(), records_.end(), precedes))
    std::sort(records_.begin(), records_.end(), precedes);
}

MultisetHash HeldRelation::hash() const {
  MultisetHash sum;
  if (column_order_.empty()) return sum;
  GroupHasher hasher(column_order_);
  for (const Record& record : records_) sum += hasher.hash(view(record));
  return sum;
}

Status HeldRelation::for_each_group(const GroupVisitor& visit) const {
  for (const Record& record : records_) STRATALOG_RETURN_IF_ERROR(visit(view(record)));
  return Status::ok();
}

RelationImage HeldRelation::image(const MultisetHash& local_hash) const {
  RelationImage image;
  image.name = name_;
  image.version = version_;
  image.arity = arity();
  image.column_order = column_order_;
  image.rows = rows_;
  image.hash = local_hash;
  image.for_each_group = [this](const GroupVisitor& visit) { return for_each_group(visit); };
  return image;
}

}  // namespace stratalog
