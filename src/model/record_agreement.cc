// SPDX-License-Identifier: Apache-2.0
#include "model/record_agreement.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

#include "model/value_agreement.h"

namespace stratalog {
namespace {

// New records as they travel: for each one its shape, then its cells. Symbols and numbers are
// final; a record among them is final, or kProvisionalRecordBase plus the place of an earlier
// record of the same message.
std::vector<Cell> write_message(const NewValues& mine, const CellRemapping& fields) {
  const RecordTable& records = mine.records();
  std::vector<Cell> message;
  message.reserve(records.cell_count());
  for (std::uint32_t id = 0; id < records.size(); ++id) {
    const Shape& shape = records.fields_of(records.shape_of(id));
    const std::span<const Cell> cells = records.cells(id);
    message.push_back(records.shape_of(id));
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if (shape[i] == CellClass::kSymbol)
        message.push_back(fields.symbol(cells[i]));
      else
        message.push_back(shape[i] == CellClass::kNumber ? fields.number(cells[i]) : cells[i]);
    }
  }
  return message;
}

// The union of all ranks' new records. A record in it refers to others of the union by
// kProvisionalRecordBase plus their number here.
class Union {
 public:
  explicit Union(const RecordTable& shapes) {
    for (const Shape& shape : shapes.shapes()) records_.shape(shape);
  }

  // Adds one rank's message; the result says where each of its records is. False if it is cut.
  bool add(std::span<const Cell> message, std::vector<std::uint32_t>& places) {
    std::vector<Cell> cells;
    while (!message.empty()) {
      const ShapeId id = message[0];
      if (id >= records_.shapes().size()) return false;
      const Shape& shape = records_.fields_of(id);
      if (message.size() < shape.size() + 1) return false;
      cells.assign(message.begin() + 1,
                   message.begin() + 1 + static_cast<std::ptrdiff_t>(shape.size()));
      std::uint32_t level = 0;
      for (std::size_t i = 0; i < cells.size(); ++i) {
        if (shape[i] != CellClass::kRecord || !is_provisional_record(cells[i])) continue;
        const Cell earlier = cells[i] - kProvisionalRecordBase;
        if (earlier >= places.size()) return false;
        cells[i] = kProvisionalRecordBase + places[earlier];
        level = std::max(level, levels_[places[earlier]] + 1);
      }
      places.push_back(records_.intern(id, cells));
      if (records_.size() > levels_.size()) levels_.push_back(level);
      message = message.subspan(shape.size() + 1);
    }
    return true;
  }

  std::uint64_t size() const { return records_.size(); }

  // Appends all of them to `shared`; the cells that they get, by number here.
  std::vector<Cell> append_to(ValueDictionary& shared) const {
    std::vector<std::uint32_t> order(records_.size());
    for (std::uint32_t id = 0; id < order.size(); ++id) order[id] = id;
    std::stable_sort(order.begin(), order.end(),
                     [&](auto a, auto b) { return levels_[a] < levels_[b]; });
    std::vector<Cell> final(records_.size());
    for (std::size_t from = 0; from < order.size();) {
      std::size_t to = from;
      while (to < order.size() && levels_[order[to]] == levels_[order[from]]) ++to;
      append_level(std::span(order).subspan(from, to - from), final, shared);
      from = to;
    }
    return final;
  }

 private:
  struct Ready {
    std::vector<Cell> content;  // the shape, then final cells
    std::uint32_t id = 0;
  };

  void append_level(std::span<const std::uint32_t> ids, std::vector<Cell>& final,
                    ValueDictionary& shared) const {
    std::vector<Ready> ready;
    ready.reserve(ids.size());
    for (const std::uint32_t id : ids) {
      const Shape& shape = records_.fields_of(records_.shape_of(id));
      Ready& entry = ready.emplace_back();
      entry.id = id;
      entry.content.push_back(records_.shape_of(id));
      const std::span<const Cell> cells = records_.cells(id);
      for (std::size_t i = 0; i < cells.size(); ++i)
        entry.content.push_back(shape[i] == CellClass::kRecord && is_provisional_record(cells[i])
                                    ? final[cells[i] - kProvisionalRecordBase]
                                    : cells[i]);
    }
    std::sort(ready.begin(), ready.end(),
              [](const Ready& a, const Ready& b) { return a.content < b.content; });
    for (const Ready& entry : ready)
      final[entry.id] = shared.encode_record(entry.content[0], std::span(entry.content).subspan(1));
  }

  RecordTable records_;
  std::vector<std::uint32_t> levels_;
};

}  // namespace

Result<std::vector<Cell>> agree_on_new_records(Comm& comm, ValueDictionary& shared,
                                               const NewValues& mine, const CellRemapping& fields) {
  const std::vector<Cell> message = write_message(mine, fields);
  STRATALOG_ASSIGN_OR_RETURN(const Received all, comm.allgather(std::as_bytes(std::span(message))));
  Union together(shared.records());
  std::vector<std::uint32_t> my_places;
  std::vector<Cell> cells;
  std::size_t at = 0;
  for (int rank = 0; rank < comm.size(); ++rank) {
    const std::uint64_t bytes = all.counts[static_cast<std::size_t>(rank)];
    cells.resize(bytes / sizeof(Cell));
    if (!cells.empty()) std::memcpy(cells.data(), all.data.data() + at, bytes);
    at += bytes;
    std::vector<std::uint32_t> places;
    if (bytes % sizeof(Cell) != 0 || !together.add(cells, places))
      return Status::internal("new records: cut message");
    if (rank == comm.rank()) my_places = std::move(places);
  }
  if (together.size() > RecordTable::kMaxRecords - shared.records().size())
    return Status::no_space(
        fmt::format("the program needs more than {} different records; a recursive rule may build "
                    "ever longer lists",
                    RecordTable::kMaxRecords));
  const std::vector<Cell> final = together.append_to(shared);
  std::vector<Cell> result;
  result.reserve(my_places.size());
  for (const std::uint32_t place : my_places) result.push_back(final[place]);
  return result;
}

Result<CellRemapping> remap_new_values(Comm& comm, ValueDictionary& shared, NewValues& mine,
                                       CellRemapping known, bool are_records) {
  if (are_records) {
    STRATALOG_ASSIGN_OR_RETURN(known.records, agree_on_new_records(comm, shared, mine, known));
  }
  mine.clear();
  return known;
}

}  // namespace stratalog
