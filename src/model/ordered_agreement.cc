// SPDX-License-Identifier: Apache-2.0
#include "model/ordered_agreement.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include "comm/shared_pointers.h"
#include "model/ordered_wides.h"
#include "model/record_agreement.h"

namespace stratalog {
namespace {

// Up to here everybody gets everything: cheaper than one more exchange.
constexpr std::uint64_t kFewBytes = std::uint64_t{1} << 18;

// Where a value was met first. Ranks ascend within a part, and places within a rank.
struct Origin {
  std::uint32_t part = 0;
  std::uint32_t rank = 0;
  std::uint32_t place = 0;  // among the new values of the rank
  friend auto operator<=>(const Origin&, const Origin&) = default;
};

// Ends of the parts among new values of one sort.
using Ends = std::vector<std::uint64_t>;

std::uint32_t part_of(const Ends& ends, std::uint64_t place) {
  return static_cast<std::uint32_t>(std::upper_bound(ends.begin(), ends.end(), place) -
                                    ends.begin());
}

// By messages.

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

std::vector<Met> met_by(int rank, std::span<const std::string_view> texts, const Ends& ends) {
  std::vector<Met> mine;
  mine.reserve(texts.size());
  for (std::uint32_t place = 0; place < texts.size(); ++place)
    mine.push_back({.origin = {.part = part_of(ends, place),
                               .rank = static_cast<std::uint32_t>(rank),
                               .place = place},
                    .text = texts[place]});
  return mine;
}

Status no_room(std::string_view what) {
  return Status::no_space("the facts hold more than 2^30 different " + std::string(what));
}

// Collective. `cells`: of this rank's new symbols, by their ids.
Status order_symbols_by_messages(Comm& comm, ValueDictionary& shared, const NewValues& mine,
                                 const Ends& ends, std::uint64_t total_bytes,
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
  if (all.size() > SymbolTable::kMaxSymbols - shared.symbols().size()) return no_room("symbols");
  std::vector<Cell> ids(all.size());
  shared.symbols().reserve(all.size());
  shared.symbols().intern_all(texts_of(all), ids.data());
  cells.resize(texts.size());
  shared.symbols().intern_all(texts, cells.data());
  return Status::ok();
}

// By memory.

// What a rank shows to the others. They read it between meetings only.
struct ShownSymbols {
  const SymbolTable* symbols = nullptr;
  Ends ends;
  std::vector<std::uint64_t> hashes;  // by id
  std::vector<Cell> firsts;  // ids of those that nobody has met before, ascending
  Ends first_ends;  // of the parts among them
};

class SymbolsInMemory {
 public:
  SymbolsInMemory(Comm& comm, ValueDictionary& shared, const NewValues& mine, const Ends& ends)
      : comm_(comm), shared_(shared), me_(static_cast<std::uint32_t>(comm.rank())) {
    own_.symbols = &mine.symbols();
    own_.ends = ends;
  }

  // Collective.
  Status order(std::vector<Cell>& cells) {
    for (Cell id = 0; id < own_.symbols->size(); ++id)
      own_.hashes.push_back(SymbolTable::hash(own_.symbols->text(id)));
    STRATALOG_ASSIGN_OR_RETURN(shown_, pointers_of_all(comm_, &std::as_const(own_)));
    find_firsts();
    STRATALOG_RETURN_IF_ERROR(comm_.barrier());
    const Status filled = fill(cells);
    // Nobody's symbols go away while others read them.
    const Status parted = comm_.barrier();
    return filled.is_ok() ? parted : filled;
  }

 private:
  struct Repeated {
    Cell id = 0;
    Origin first;
  };

  void find_firsts() {
    constexpr std::size_t kAtOnce = 1024;
    std::vector<Origin> firsts(kAtOnce);
    std::uint64_t begin = 0;
    for (std::uint32_t part = 0; part < own_.ends.size(); ++part) {
      for (std::uint64_t end = 0; begin < own_.ends[part]; begin = end) {
        end = std::min(own_.ends[part], begin + kAtOnce);
        find_firsts(part, begin, end, firsts);
        for (std::uint64_t id = begin; id < end; ++id) {
          const Origin& first = firsts[id - begin];
          if (first.rank == me_)
            own_.firsts.push_back(static_cast<Cell>(id));
          else
            repeated_.push_back({.id = static_cast<Cell>(id), .first = first});
        }
      }
      own_.first_ends.push_back(own_.firsts.size());
    }
  }

  // Of the own symbols `begin` .. `end` - 1, which were met in `part`.
  void find_firsts(std::uint32_t part, std::uint64_t begin, std::uint64_t end,
                   std::vector<Origin>& firsts) {
    sought_.clear();
    for (std::uint64_t id = begin; id < end; ++id) {
      sought_.push_back(
          {.text = own_.symbols->text(static_cast<Cell>(id)), .hash = own_.hashes[id]});
      firsts[id - begin] = {.part = part, .rank = me_, .place = static_cast<std::uint32_t>(id)};
    }
    found_.resize(sought_.size());
    for (std::uint32_t rank = 0; rank < shown_.size(); ++rank) {
      if (rank == me_) continue;
      shown_[rank]->symbols->find_all(sought_, found_.data());
      for (std::size_t i = 0; i < found_.size(); ++i)
        if (const Cell id = found_[i]; id != SymbolTable::kNotThere)
          firsts[i] = std::min(
              firsts[i], {.part = part_of(shown_[rank]->ends, id), .rank = rank, .place = id});
    }
  }

  Status fill(std::vector<Cell>& cells) {
    std::uint64_t more = 0;
    for (const ShownSymbols* shown : shown_) more += shown->firsts.size();
    if (more > SymbolTable::kMaxSymbols - shared_.symbols().size()) return no_room("symbols");
    shared_.symbols().reserve(more);
    for (const ShownSymbols* shown : shown_)
      shared_.symbols().share_texts(*shown->symbols, shown == &own_
                                                         ? SymbolTable::Memory::kCountedHere
                                                         : SymbolTable::Memory::kCountedElsewhere);
    cells.resize(own_.symbols->size());
    // The cell of the first one of each part and rank.
    std::vector<Cell> begins;
    for (std::uint32_t part = 0; part < own_.ends.size(); ++part)
      for (const ShownSymbols* shown : shown_) {
        begins.push_back(static_cast<Cell>(shared_.symbols().size()));
        append_firsts(*shown, part);
      }
    for (std::size_t part = 0; part < own_.ends.size(); ++part)
      for (std::uint64_t i = first_begin(own_, part); i < own_.first_ends[part]; ++i)
        cells[own_.firsts[i]] =
            static_cast<Cell>(begins[(part * shown_.size()) + me_] + i - first_begin(own_, part));
    for (const Repeated& repeated : repeated_) {
      const Origin& first = repeated.first;
      const ShownSymbols& shown = *shown_[first.rank];
      const auto at = static_cast<std::uint64_t>(
          std::lower_bound(shown.firsts.begin(), shown.firsts.end(), first.place) -
          shown.firsts.begin());
      cells[repeated.id] = static_cast<Cell>(begins[(first.part * shown_.size()) + first.rank] +
                                             at - first_begin(shown, first.part));
    }
    return Status::ok();
  }

  void append_firsts(const ShownSymbols& shown, std::size_t part) {
    const std::uint64_t begin = first_begin(shown, part);
    shared_.symbols().append_shared(
        *shown.symbols, std::span(shown.firsts).subspan(begin, shown.first_ends[part] - begin),
        shown.hashes);
  }

  static std::uint64_t first_begin(const ShownSymbols& shown, std::size_t part) {
    return part == 0 ? 0 : shown.first_ends[part - 1];
  }

  Comm& comm_;
  ValueDictionary& shared_;
  std::uint32_t me_;
  ShownSymbols own_;
  std::vector<const ShownSymbols*> shown_;  // by rank
  std::vector<SymbolTable::Sought> sought_;  // scratch
  std::vector<Cell> found_;  // scratch
  std::vector<Repeated> repeated_;  // of this rank's, those that others have met before
};

}  // namespace

Result<CellRemapping> agree_on_values_in_order(Comm& comm, ValueDictionary& shared, NewValues& mine,
                                               std::span<const DictionarySize> ends) {
  std::array<std::uint64_t, 5> totals = {
      mine.symbols().size(), mine.symbols().text_bytes() + mine.symbols().size(),
      mine.wides().size(), mine.records().size(), mine.overflowed() ? 1U : 0U};
  STRATALOG_RETURN_IF_ERROR(comm.allreduce(totals, ReduceOp::kSum));
  const auto [symbols, symbol_bytes, wides, records, overflows] = totals;
  if (overflows != 0) return no_room("values at once, or one has 4 GiB");
  Ends symbol_ends;
  Ends wide_ends;
  for (const DictionarySize& end : ends) {
    symbol_ends.push_back(end.symbols);
    wide_ends.push_back(end.wides);
  }
  CellRemapping known;
  if (symbols != 0 && comm.shares_memory() && comm.size() > 1)
    STRATALOG_RETURN_IF_ERROR(
        SymbolsInMemory(comm, shared, mine, symbol_ends).order(known.symbols));
  else if (symbols != 0)
    STRATALOG_RETURN_IF_ERROR(
        order_symbols_by_messages(comm, shared, mine, symbol_ends, symbol_bytes, known.symbols));
  if (wides != 0) {
    STRATALOG_ASSIGN_OR_RETURN(known.wides,
                               order_wides(comm, shared.wides(), mine.wides().values(), wide_ends));
    for (Cell& cell : known.wides) cell += kWideBase;
  }
  return remap_new_values(comm, shared, mine, std::move(known), records != 0);
}

}  // namespace stratalog
