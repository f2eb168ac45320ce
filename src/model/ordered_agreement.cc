// SPDX-License-Identifier: Apache-2.0
#include "model/ordered_agreement.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include "model/joint_tables.h"
#include "model/order_in_memory.h"
#include "model/ordered_wides.h"
#include "model/record_agreement.h"
#include "model/value_origin.h"

namespace stratalog {
namespace {

// Up to here everybody gets everything: cheaper than one more exchange.
constexpr std::uint64_t kFewBytes = std::uint64_t{1} << 18;

struct Met {
  Origin origin;
  std::string_view text;
};

void append_met(Bytes& packed, const Met& met) {
  const std::array<std::uint32_t, 4> head = {met.origin.part, met.origin.rank, met.origin.place,
                                             static_cast<std::uint32_t>(met.text.size())};
  const std::size_t at = packed.size();
  packed.resize(at + sizeof(head) + met.text.size());
  std::memcpy(packed.data() + at, head.data(), sizeof(head));
  if (!met.text.empty())
    std::memcpy(packed.data() + at + sizeof(head), met.text.data(), met.text.size());
}

// Sorts what consists of a few ascending runs: each rank sends one.
void merge_runs(std::vector<Met>& all) {
  const auto is_before = [](const Met& a, const Met& b) { return a.origin < b.origin; };
  std::vector<std::ptrdiff_t> ends;
  for (std::size_t i = 1; i < all.size(); ++i)
    if (is_before(all[i], all[i - 1])) ends.push_back(static_cast<std::ptrdiff_t>(i));
  ends.push_back(static_cast<std::ptrdiff_t>(all.size()));
  while (ends.size() > 1) {
    std::vector<std::ptrdiff_t> fewer;
    std::ptrdiff_t begin = 0;
    for (std::size_t i = 0; i < ends.size(); i += 2) {
      const std::ptrdiff_t end = ends[std::min(i + 1, ends.size() - 1)];
      std::inplace_merge(all.begin() + begin, all.begin() + ends[i], all.begin() + end, is_before);
      fewer.push_back(end);
      begin = end;
    }
    ends = std::move(fewer);
  }
}

// In order; views into `packed`.
Result<std::vector<Met>> unpack_met(std::span<const std::byte> packed) {
  std::vector<Met> all;
  while (!packed.empty()) {
    std::array<std::uint32_t, 4> head{};
    if (packed.size() < sizeof(head)) return Status::internal("new values: cut message");
    std::memcpy(head.data(), packed.data(), sizeof(head));
    packed = packed.subspan(sizeof(head));
    if (packed.size() < head[3]) return Status::internal("new values: cut message");
    all.push_back({.origin = {.part = head[0], .rank = head[1], .place = head[2]},
                   .text = {reinterpret_cast<const char*>(packed.data()), head[3]}});
    packed = packed.subspan(head[3]);
  }
  merge_runs(all);
  return all;
}

std::vector<std::string_view> texts_of(const std::vector<Met>& all) {
  std::vector<std::string_view> texts;
  texts.reserve(all.size());
  for (const Met& met : all) texts.push_back(met.text);
  return texts;
}

// Collective. The first of equal texts, those whose hash names this rank.
Result<Bytes> keep_firsts(Comm& comm, const std::vector<Met>& mine) {
  const auto ranks = static_cast<std::uint64_t>(comm.size());
  std::vector<Bytes> to(ranks);
  for (const Met& met : mine) append_met(to[SymbolTable::hash(met.text) % ranks], met);
  Bytes packed;
  std::vector<std::uint64_t> counts;
  for (const Bytes& part : to) {
    packed.insert(packed.end(), part.begin(), part.end());
    counts.push_back(part.size());
  }
  STRATALOG_ASSIGN_OR_RETURN(const Received received, comm.exchange(packed, counts));
  STRATALOG_ASSIGN_OR_RETURN(const std::vector<Met> dealt, unpack_met(received.data));
  SymbolTable known;
  std::vector<Cell> ids(dealt.size());
  known.intern_all(texts_of(dealt), ids.data());
  Bytes kept;
  Cell next = 0;
  for (std::size_t i = 0; i < dealt.size(); ++i) {
    if (ids[i] != next) continue;  // it was there
    append_met(kept, dealt[i]);
    ++next;
  }
  return kept;
}

// Collective. All ranks' texts in order, perhaps some repeated; views into `received`.
Result<std::vector<Met>> bring_together(Comm& comm, const std::vector<Met>& mine,
                                        std::uint64_t total_bytes, Received& received) {
  Bytes packed;
  if (total_bytes <= kFewBytes) {
    for (const Met& met : mine) append_met(packed, met);
  } else {
    STRATALOG_ASSIGN_OR_RETURN(packed, keep_firsts(comm, mine));
  }
  STRATALOG_ASSIGN_OR_RETURN(received, comm.allgather(packed));
  return unpack_met(received.data);
}

std::vector<Met> met_by(int rank, std::span<const std::string_view> texts, const PartEnds& ends) {
  std::vector<Met> mine;
  mine.reserve(texts.size());
  for (std::uint32_t place = 0; place < texts.size(); ++place)
    mine.push_back({.origin = {.part = part_of(ends, place),
                               .rank = static_cast<std::uint32_t>(rank),
                               .place = place},
                    .text = texts[place]});
  return mine;
}

// Collective. `cells`: of this rank's new symbols, by their ids.
Status order_symbols_by_messages(Comm& comm, ValueDictionary& shared, const NewValues& mine,
                                 const PartEnds& ends, std::uint64_t total_bytes,
                                 std::vector<Cell>& cells) {
  std::vector<std::string_view> texts;
  texts.reserve(mine.symbols().size());
  for (Cell id = 0; id < mine.symbols().size(); ++id) texts.push_back(mine.symbols().text(id));
  Received received;
  STRATALOG_ASSIGN_OR_RETURN(
      const std::vector<Met> all,
      bring_together(comm, met_by(comm.rank(), texts, ends), total_bytes, received));
  // None is too long for a table: each comes out of one. Some may be repeated, but then all are
  // few.
  if (all.size() > SymbolTable::kMaxSymbols - shared.symbols().size())
    return too_many_different("symbols");
  std::vector<Cell> ids(all.size());
  SymbolTable& table = shared.own_symbols();
  table.reserve(all.size());
  table.intern_all(texts_of(all), ids.data());
  cells.resize(texts.size());
  table.find_all(texts, cells.data());
  return Status::ok();
}

}  // namespace

Result<CellRemapping> agree_on_values_in_order(Comm& comm, ValueDictionary& shared, NewValues& mine,
                                               std::span<const DictionarySize> ends) {
  std::array<std::uint64_t, 5> totals = {
      mine.symbols().size(), mine.symbols().text_bytes() + mine.symbols().size(),
      mine.wides().size(), mine.records().size(), mine.overflowed() ? 1U : 0U};
  STRATALOG_RETURN_IF_ERROR(comm.allreduce(totals, ReduceOp::kSum));
  const auto [symbols, symbol_bytes, wides, records, overflows] = totals;
  if (overflows != 0) return too_many_different("values at once, or one has 4 GiB");
  PartEnds symbol_ends;
  PartEnds wide_ends;
  for (const DictionarySize& end : ends) {
    symbol_ends.push_back(end.symbols);
    wide_ends.push_back(end.wides);
  }
  CellRemapping known;
  const bool in_memory = comm.shares_memory() && comm.size() > 1;
  if (in_memory && symbols + wides != 0) STRATALOG_RETURN_IF_ERROR(join_tables(comm, shared));
  if (symbols != 0 && in_memory)
    STRATALOG_RETURN_IF_ERROR(
        OrderInMemory<ShownSymbols>(comm, ShownSymbols(mine.symbols()), symbol_ends)
            .order(shared.joint_symbols(), known.symbols));
  else if (symbols != 0)
    STRATALOG_RETURN_IF_ERROR(
        order_symbols_by_messages(comm, shared, mine, symbol_ends, symbol_bytes, known.symbols));
  if (wides != 0) {
    if (in_memory) {
      STRATALOG_RETURN_IF_ERROR(OrderInMemory<ShownWides>(comm, ShownWides(mine.wides()), wide_ends)
                                    .order(shared.joint_wides(), known.wides));
    } else {
      STRATALOG_ASSIGN_OR_RETURN(
          known.wides, order_wides(comm, shared.own_wides(), mine.wides().values(), wide_ends));
    }
    for (Cell& cell : known.wides) cell += kWideBase;
  }
  return remap_new_values(comm, shared, mine, std::move(known), records != 0);
}

}  // namespace stratalog
