// SPDX-License-Identifier: Apache-2.0
#include "datalog/evaluate/numbered_tuples.h"

#include <fmt/format.h>

#include <cstring>
#include <optional>

#include "datalog/evaluate/redistribute.h"
#include "datalog/evaluate/relation_images.h"
#include "datalog/facts/sorted_ranges.h"
#include "datalog/facts/tuple_source.h"
#include "datalog/facts/value_order.h"

namespace stratalog::datalog {
namespace {

// Numbers that relations of earlier strata have taken.
std::uint64_t taken_before(const EngineState& state, RelationId relation) {
  std::uint64_t taken = 0;
  for (const Stratum& stratum : state.program.strata) {
    if (stratum.relations.empty()) continue;
    if (stratum.relations.front() == relation) break;
    const std::optional<Numbering>& numbering =
        state.program.relations[stratum.relations.front()].numbering;
    if (numbering) taken += numbering->step * state.relations[numbering->source].global_rows;
  }
  return taken;
}

// Collective. How many of a number that each rank has lie on lower ranks, and on all.
struct Share {
  std::uint64_t below = 0;
  std::uint64_t all = 0;
};
Result<Share> share_of(Comm& comm, std::uint64_t mine) {
  STRATALOG_ASSIGN_OR_RETURN(const Received counts,
                             comm.allgather(std::as_bytes(std::span(&mine, 1))));
  Share share;
  for (int rank = 0; rank < comm.size(); ++rank) {
    std::uint64_t count = 0;
    std::memcpy(&count, counts.data.data() + (static_cast<std::size_t>(rank) * sizeof(count)),
                sizeof(count));
    if (rank < comm.rank()) share.below += count;
    share.all += count;
  }
  return share;
}

}  // namespace

Status number_tuples(EngineState& state, RelationId id) {
  const Numbering& numbering = *state.program.relations[id].numbering;
  const Relation& source = state.program.relations[numbering.source];
  const auto arity = static_cast<std::uint32_t>(source.attributes.size());
  std::uint64_t next = taken_before(state, id);
  const std::uint64_t rows = state.relations[numbering.source].global_rows;
  if (next + (rows * numbering.step) >= kNegativeBase)
    return Status::no_space(fmt::format("`autoinc()` for `{}` would count beyond {}",
                                        source.name.substr(0, source.name.find('#')),
                                        kNegativeBase - 1));
  TupleColumns numbered;
  numbered.columns.resize(arity + 1);
  if (arity == 0) {
    if (state.comm.rank() == 0 && rows > 0) {
      numbered.columns[0].push_back(narrow_cell(next));
      numbered.rows = 1;
    }
    return deal_tuples(state, id, numbered);
  }
  const RelationImage image = relation_image(state, numbering.source, RelationVersion::kTotal);
  const auto mine = count_rows(image);
  STRATALOG_RETURN_IF_ERROR(agree(state.comm, mine.status()));
  ValueOrder order(state.dictionary);
  const std::vector<ColumnOrder> orders = order.for_relation(source);
  const auto number_range = [&](std::span<const OrderCode> codes) -> Status {
    const std::uint64_t count = codes.size() / arity;
    STRATALOG_ASSIGN_OR_RETURN(const Share share, share_of(state.comm, count));
    for (std::uint64_t r = 0; r < count; ++r) {
      for (std::uint32_t c = 0; c < arity; ++c)
        numbered.columns[c].push_back(orders[c].cell(codes[(r * arity) + c]));
      numbered.columns[arity].push_back(narrow_cell(next + ((share.below + r) * numbering.step)));
    }
    numbered.rows += count;
    next += share.all * numbering.step;
    return {};
  };
  STRATALOG_RETURN_IF_ERROR(for_each_sorted_range(
      state.comm, source_of_image(image, orders, mine.value()), {}, number_range));
  return deal_tuples(state, id, numbered);
}

}  // namespace stratalog::datalog
