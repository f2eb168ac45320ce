// SPDX-License-Identifier: Apache-2.0
#include "datalog/evaluate/value_union.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "datalog/evaluate/value_bits.h"
#include "datalog/facts/cell_class.h"
#include "datalog/facts/structured_text.h"

namespace stratalog::datalog {

ValueUnion::ValueUnion(EngineState& state, std::uint32_t stratum) : state_(state) {
  for (const RelationId r : state.program.strata[stratum].relations) {
    const auto& best = state.plan.relations[r].best;
    if (!best || best->keeps != KeptValue::kUnited) continue;
    const Rule& rule = state.program.rules[best->rule];
    const auto value_in = [&](std::size_t atom) {
      return rule.body[atom].atom.arguments[best->column].variable;
    };
    United of{.relation = r,
              .column = cell_class(best->kind),
              .rule = &rule,
              .known = value_in(0),
              .added = value_in(1),
              .batch = {},
              .values = {}};
    of.batch.rows = 1;
    of.batch.columns.resize(rule.variables.size());
    of.batch.columns[of.known].resize(1);
    of.batch.columns[of.added].resize(1);
    united_.push_back(std::move(of));
  }
}

Status ValueUnion::settle() {
  if (!is_needed()) return {};
  Status mine = state_.guard([&]() -> Status {
    for (United& of : united_) STRATALOG_RETURN_IF_ERROR(unite_rows(of));
    return {};
  });
  const auto remapping = agree_on_new_values(state_.comm, state_.dictionary, state_.new_values);
  if (!remapping.is_ok()) return remapping.status();
  if (!mine.is_ok()) return mine;
  return state_.guard([&]() -> Status {
    for (United& of : united_) {
      for (Cell& cell : of.values) cell = remapping.value().of(of.column, cell);
      state_.relations[of.relation].shards.front().primary_index().replace_next_delta(of.values);
    }
    return {};
  });
}

Status ValueUnion::unite_rows(United& of) {
  of.values.clear();
  const Index& home = state_.relations[of.relation].shards.front().primary_index();
  state_.evaluator.set_place(&of.rule->place);
  for (const DeltaRow& row : home.next_delta()) {
    STRATALOG_ASSIGN_OR_RETURN(const Cell value, unite_row(of, home, row));
    of.values.push_back(value);
  }
  return {};
}

Result<Cell> ValueUnion::unite_row(United& of, const Index& home, const DeltaRow& row) {
  // At most one, which was made here.
  std::optional<Cell> value;
  home.total(row.row).walk([&](Cell known) { value = known; });
  Status status;
  row.cells.walk([&](Cell added) {
    if (!status.is_ok()) return;
    if (!value) {
      value = added;
      return;
    }
    const Cell bound = least_upper_bound(of, *value, added);
    status = state_.evaluator.status();
    if (status.is_ok() && bound != *value) status = check_is_above(of, *value, added, bound);
    value = bound;
  });
  if (!status.is_ok()) return status;
  return *value;
}

Cell ValueUnion::least_upper_bound(United& of, Cell known, Cell added) {
  of.batch.columns[of.known][0] = known;
  of.batch.columns[of.added][0] = added;
  return state_.evaluator.evaluate(of.rule->body[2].right, of.batch, 0);
}

// A value that changes must rise, or rounds may go in a circle.
Status ValueUnion::check_is_above(United& of, Cell known, Cell added, Cell value) {
  const Cell again = least_upper_bound(of, value, known);
  STRATALOG_RETURN_IF_ERROR(state_.evaluator.status());
  if (again == value) return {};
  const SourcePlace& place = of.rule->place;
  return Status::invalid_argument(fmt::format(
      "{}:{}:{}: the Lub of {} and {} is {}, but the Lub of that and {} is {}: it is no upper "
      "bound, so that values might never settle",
      place.file, place.line, place.column, text(of, known), text(of, added), text(of, value),
      text(of, known), text(of, again)));
}

std::string ValueUnion::text(const United& of, Cell cell) const {
  const NewValues& values = state_.new_values;
  const Attribute& attribute = state_.program.relations[of.relation].attributes.back();
  if (attribute.structure != kNoStructure) {
    std::string text;
    append_structured(*state_.program.structures, attribute.structure, values, cell,
                      SymbolQuotes::kLiteral, text);
    return text;
  }
  const ValueKind kind = of.rule->body[2].left.value_kind;
  if (kind == ValueKind::kSymbol) return fmt::format("\"{}\"", values.text(cell));
  const std::uint64_t bits = values.bits(cell);
  if (kind == ValueKind::kFloat) return fmt::format("{}", as_float(bits));
  if (kind == ValueKind::kUnsigned) return fmt::format("{}", bits);
  return fmt::format("{}", as_signed(bits));
}

}  // namespace stratalog::datalog
