// SPDX-License-Identifier: Apache-2.0
#include "datalog/evaluate/running_sums.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "datalog/evaluate/exact_sum.h"
#include "datalog/evaluate/value_bits.h"
#include "model/value_agreement.h"
#include "relation/prefix_map.h"

namespace stratalog::datalog {
namespace {

constexpr std::string_view kOverflow = "it leaves its 64 bits";

bool is_less(ValueKind kind, std::uint64_t a, std::uint64_t b) {
  if (kind == ValueKind::kFloat) return as_float(a) < as_float(b);
  if (kind == ValueKind::kUnsigned) return a < b;
  return as_signed(a) < as_signed(b);
}

// Where the declared columns 0 .. count-1 stand in an index.
std::vector<std::size_t> places_of(const Index& index, std::size_t count) {
  std::vector<std::size_t> places(count);
  for (std::size_t c = 0; c < count; ++c)
    places[c] =
        static_cast<std::size_t>(std::ranges::find(index.order(), c) - index.order().begin());
  return places;
}

// The greatest of a row; nothing of an empty one.
std::optional<std::uint64_t> greatest(const ValueDictionary& values, ValueKind kind,
                                      const IntSet& cells) {
  std::optional<std::uint64_t> found;
  cells.walk([&](Cell cell) {
    const std::uint64_t bits = values.decode(cell);
    if (!found || is_less(kind, *found, bits)) found = bits;
  });
  return found;
}

}  // namespace

// What a round adds to a sum.
struct RunningSums::Addition {
  std::uint64_t whole = 0;
  ExactSum real;

  // Whether whole numbers stay within their 64 bits; none of them is below zero.
  bool add(ValueKind kind, std::uint64_t bits) {
    if (kind == ValueKind::kFloat) {
      real.add(as_float(bits));
      return true;
    }
    const std::uint64_t before = std::exchange(whole, whole + bits);
    return !is_less(kind, whole, before);
  }
  std::uint64_t value(ValueKind kind) const {
    return kind == ValueKind::kFloat ? std::bit_cast<std::uint64_t>(real.rounded()) : whole;
  }
};

RunningSums::RunningSums(EngineState& state, std::uint32_t stratum) : state_(state) {
  for (const RelationId r : state.program.strata[stratum].relations) {
    const Relation& relation = state.program.relations[r];
    if (relation.sums)
      sums_.push_back({.total = r,
                       .of = *relation.sums,
                       .kind = relation.attributes.back().kind,
                       .tuples = {}});
  }
}

Status RunningSums::settle() {
  if (sums_.empty()) return {};
  Status mine = state_.guard([&]() -> Status {
    for (Sum& sum : sums_) STRATALOG_RETURN_IF_ERROR(add_terms(sum));
    return {};
  });
  const auto remapping = agree_on_new_values(state_.comm, state_.dictionary, state_.new_values);
  if (!remapping.is_ok()) return remapping.status();
  if (!mine.is_ok()) return mine;
  return state_.guard([&]() -> Status {
    for (Sum& sum : sums_) {
      Index& home = state_.relations[sum.total].shards.front().primary_index();
      for (std::size_t at = home.arity() - 1; at < sum.tuples.size(); at += home.arity())
        sum.tuples[at] = remapping.value().number(sum.tuples[at]);
      home.queue_tuples(sum.tuples);
      home.unite_queued(state_.scratch, Freshness::kUnknown);
    }
    return {};
  });
}

Status RunningSums::add_terms(Sum& sum) {
  sum.tuples.clear();
  const Index& terms = state_.relations[sum.of.terms].shards.front().primary_index();
  const Index& totals = state_.relations[sum.total].shards.front().primary_index();
  const std::size_t width = totals.arity() - std::size_t{1};
  const auto from = places_of(terms, width);
  const auto to = places_of(totals, width);
  PrefixMap keys(static_cast<std::uint32_t>(width));  // in the order of `totals`
  std::vector<Addition> added;
  std::vector<Cell> key(width);
  for (const DeltaRow& row : terms.next_delta()) {
    for (std::size_t c = 0; c < width; ++c) key[to[c]] = terms.prefix(row.row)[from[c]];
    const std::uint32_t at = keys.find_or_add(key.data());
    if (at == added.size()) added.emplace_back();
    STRATALOG_RETURN_IF_ERROR(add_row(sum, terms, row, added[at]));
  }
  for (std::uint32_t k = 0; k < added.size(); ++k) {
    const std::span<const Cell> prefix = keys.key(k);
    std::uint64_t before = 0;
    if (const RowId row = totals.find_row(prefix.data()); row != Index::kNoRow)
      before = greatest(state_.dictionary, sum.kind, totals.total(row)).value_or(0);
    if (!added[k].add(sum.kind, before)) return fail(sum, kOverflow);
    sum.tuples.insert(sum.tuples.end(), prefix.begin(), prefix.end());
    sum.tuples.push_back(state_.new_values.number(added[k].value(sum.kind)));
  }
  return {};
}

// Of values that change, what the greatest is above the one before.
Status RunningSums::add_row(const Sum& sum, const Index& terms, const DeltaRow& row,
                            Addition& to) const {
  const auto add = [&](std::uint64_t bits) {
    return to.add(sum.kind, bits) ? Status() : fail(sum, kOverflow);
  };
  if (sum.of.counts) return add(row.cells.size());
  if (state_.relations[sum.of.terms].keeps_one_value()) {
    const std::uint64_t now = greatest(state_.dictionary, sum.kind, row.cells).value_or(0);
    STRATALOG_RETURN_IF_ERROR(check_term(sum, now));
    const std::uint64_t before =
        greatest(state_.dictionary, sum.kind, terms.total(row.row)).value_or(0);
    if (sum.kind != ValueKind::kFloat) return add(now - before);
    to.real.add(-as_float(before));
    return add(now);
  }
  Status status;
  row.cells.walk([&](Cell cell) {
    if (!status.is_ok()) return;
    const std::uint64_t bits = state_.dictionary.decode(cell);
    status = check_term(sum, bits);
    if (status.is_ok()) status = add(bits);
  });
  return status;
}

Status RunningSums::check_term(const Sum& sum, std::uint64_t bits) const {
  if (sum.kind == ValueKind::kFloat && std::isnan(as_float(bits)))
    return fail(sum, "one of its terms is no number");
  if (!is_less(sum.kind, bits, 0)) return {};
  return fail(sum, sum.kind == ValueKind::kFloat
                       ? fmt::format("one of its terms is {}", as_float(bits))
                       : fmt::format("one of its terms is {}", as_signed(bits)));
}

Status RunningSums::fail(const Sum& sum, std::string_view what) const {
  const SourcePlace& place = state_.program.relations[sum.total].place;
  return Status::invalid_argument(
      fmt::format("{}:{}:{}: a sum in a recursion must grow with each of its terms: {}", place.file,
                  place.line, place.column, what));
}

}  // namespace stratalog::datalog
