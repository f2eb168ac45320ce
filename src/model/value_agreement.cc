// SPDX-License-Identifier: Apache-2.0
#include "model/value_agreement.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <span>
#include <string_view>
#include <utility>

#include "model/joint_tables.h"
#include "model/radix_sort.h"
#include "model/record_agreement.h"
#include "model/text_order.h"

namespace stratalog {
namespace {

using Texts = std::vector<std::string_view>;

// Up to here everybody sorts everything: cheaper than two more collectives.
constexpr std::uint64_t kSmallUnionBytes = std::uint64_t{1} << 18;
constexpr std::uint64_t kSamplesPerRank = 64;

void append_text(Bytes& packed, std::string_view text) {
  const auto length = static_cast<std::uint32_t>(text.size());
  const std::size_t at = packed.size();
  packed.resize(at + sizeof(length) + text.size());
  std::memcpy(packed.data() + at, &length, sizeof(length));
  if (length != 0) std::memcpy(packed.data() + at + sizeof(length), text.data(), length);
}

// Views into `packed`, appended to `texts`.
Status unpack_texts(std::span<const std::byte> packed, Texts& texts) {
  while (!packed.empty()) {
    std::uint32_t length = 0;
    if (packed.size() < sizeof(length)) return Status::internal("new values: cut message");
    std::memcpy(&length, packed.data(), sizeof(length));
    packed = packed.subspan(sizeof(length));
    if (packed.size() < length) return Status::internal("new values: cut message");
    texts.emplace_back(reinterpret_cast<const char*>(packed.data()), length);
    packed = packed.subspan(length);
  }
  return Status::ok();
}

void sort_unique(Texts& texts) {
  sort_texts(texts);
  texts.erase(std::unique(texts.begin(), texts.end()), texts.end());
}

Bytes pack_texts(std::span<const std::string_view> texts) {
  std::size_t bytes = 0;
  for (const std::string_view text : texts) bytes += sizeof(std::uint32_t) + text.size();
  Bytes packed;
  packed.reserve(bytes);
  for (const std::string_view text : texts) append_text(packed, text);
  return packed;
}

// Collective. One text per rank boundary, equal on all ranks, that deal the union of all sorted
// lists about evenly.
Result<std::vector<std::string>> choose_splitters(Comm& comm, const Texts& sorted) {
  Texts samples;
  const std::uint64_t count = std::min<std::uint64_t>(sorted.size(), kSamplesPerRank);
  for (std::uint64_t i = 0; i < count; ++i) samples.push_back(sorted[i * sorted.size() / count]);
  STRATALOG_ASSIGN_OR_RETURN(const Received received, comm.allgather(pack_texts(samples)));
  Texts all;
  STRATALOG_RETURN_IF_ERROR(unpack_texts(received.data, all));
  sort_texts(all);
  const auto ranks = static_cast<std::uint64_t>(comm.size());
  std::vector<std::string> splitters;
  for (std::uint64_t r = 1; r < ranks && !all.empty(); ++r)
    splitters.emplace_back(all[r * all.size() / ranks]);
  return splitters;
}

// Collective. This rank's share of the union, sorted and without repetitions; views into
// `received`.
Result<Texts> deal_by_range(Comm& comm, const Texts& sorted, Received& received) {
  STRATALOG_ASSIGN_OR_RETURN(const auto splitters, choose_splitters(comm, sorted));
  Bytes packed;
  std::vector<std::uint64_t> counts(static_cast<std::size_t>(comm.size()), 0);
  auto from = sorted.begin();
  for (std::size_t r = 0; r < counts.size(); ++r) {
    const auto to = r < splitters.size()
                        ? std::lower_bound(from, sorted.end(), std::string_view(splitters[r]))
                        : sorted.end();
    const std::size_t before = packed.size();
    for (; from != to; ++from) append_text(packed, *from);
    counts[r] = packed.size() - before;
  }
  STRATALOG_ASSIGN_OR_RETURN(received, comm.exchange(packed, counts));
  Texts share;
  STRATALOG_RETURN_IF_ERROR(unpack_texts(received.data, share));
  sort_unique(share);
  return share;
}

// Collective. The union of all ranks' texts in ascending order; views into `received`.
// `total_bytes` is the sum of all ranks' text sizes.
Result<Texts> unite(Comm& comm, Texts mine, std::uint64_t total_bytes, Received& received) {
  sort_texts(mine);
  const bool is_small = comm.size() == 1 || total_bytes <= kSmallUnionBytes;
  Received dealt;
  if (!is_small) {
    STRATALOG_ASSIGN_OR_RETURN(mine, deal_by_range(comm, mine, dealt));
  }
  STRATALOG_ASSIGN_OR_RETURN(received, comm.allgather(pack_texts(mine)));
  Texts all;
  STRATALOG_RETURN_IF_ERROR(unpack_texts(received.data, all));
  if (is_small) sort_unique(all);  // shares of a dealt union are sorted and follow one another
  return all;
}

Status check_room(const ValueDictionary& shared, std::uint64_t symbols, std::uint64_t wides) {
  if (symbols > SymbolTable::kMaxSymbols - shared.symbols().size())
    return Status::no_space(
        fmt::format("the program needs more than {} different symbols; a "
                    "recursive rule may build ever longer strings",
                    SymbolTable::kMaxSymbols));
  if (wides > WideTable::kMaxValues - shared.wides().size())
    return Status::no_space(
        fmt::format("the program needs more than {} different large numbers; a "
                    "recursive rule may count without an end",
                    WideTable::kMaxValues));
  return Status::ok();
}

// Adds the symbols of all ranks to `shared`; `cells` are those of this rank's, by their ids.
Status agree_on_symbols(Comm& comm, ValueDictionary& shared, const NewValues& mine,
                        std::uint64_t total_bytes, std::vector<Cell>& cells) {
  Texts texts;
  texts.reserve(mine.symbols().size());
  for (Cell id = 0; id < mine.symbols().size(); ++id) texts.push_back(mine.symbols().text(id));
  cells.resize(texts.size());
  if (comm.size() == 1) {  // nobody else's: no message, and each is looked up once
    STRATALOG_RETURN_IF_ERROR(check_room(shared, texts.size(), 0));
    shared.own_symbols().reserve(texts.size());
    for (const std::uint64_t id : order_of_texts(texts))
      cells[id] = shared.encode_symbol(texts[id]);
    return Status::ok();
  }
  Received received;
  STRATALOG_ASSIGN_OR_RETURN(const Texts all, unite(comm, texts, total_bytes, received));
  const auto add = [&]() -> Status {
    STRATALOG_RETURN_IF_ERROR(check_room(shared, all.size(), 0));
    SymbolTable& table = shared.joint_symbols();
    table.reserve(all.size());
    std::vector<Cell> ids(all.size());
    table.intern_all(all, ids.data());
    return Status::ok();
  };
  STRATALOG_RETURN_IF_ERROR(change_tables(comm, shared, add));
  shared.symbols().find_all(texts, cells.data());
  return Status::ok();
}

// The same order without messages: by the bits.
Status add_wides_of_one_rank(ValueDictionary& shared, const NewValues& mine,
                             std::vector<Cell>& cells) {
  const std::span<const std::uint64_t> values = mine.wides().values();
  STRATALOG_RETURN_IF_ERROR(check_room(shared, 0, values.size()));
  using Placed = std::pair<std::uint64_t, std::uint32_t>;  // the bits, and whose they are
  std::vector<Placed> ordered;
  ordered.reserve(values.size());
  for (const std::uint64_t bits : values)
    ordered.emplace_back(bits, static_cast<std::uint32_t>(ordered.size()));
  radix_sort(ordered, [](const Placed& placed) { return placed.first; });
  std::vector<std::uint64_t> ascending;
  ascending.reserve(ordered.size());
  for (const Placed& placed : ordered) ascending.push_back(placed.first);
  cells.resize(values.size());
  shared.own_wides().reserve(values.size());
  shared.own_wides().intern_all(ascending, [&](std::size_t i, std::uint32_t id) {
    cells[ordered[i].second] = kWideBase + id;
  });
  return Status::ok();
}

// Adds the numbers of all ranks to `shared`; `cells` are those of this rank's, by their ids.
// They travel as texts of 8 bytes, most significant first, so that their order is the order
// of texts.
Status agree_on_wides(Comm& comm, ValueDictionary& shared, const NewValues& mine,
                      std::uint64_t total_count, std::vector<Cell>& cells) {
  if (comm.size() == 1) return add_wides_of_one_rank(shared, mine, cells);
  std::vector<std::uint64_t> swapped;
  swapped.reserve(mine.wides().size());
  for (const std::uint64_t bits : mine.wides().values()) swapped.push_back(__builtin_bswap64(bits));
  Texts texts;
  texts.reserve(swapped.size());
  for (const std::uint64_t& bits : swapped)
    texts.emplace_back(reinterpret_cast<const char*>(&bits), sizeof(bits));
  Received received;
  STRATALOG_ASSIGN_OR_RETURN(const Texts all,
                             unite(comm, std::move(texts), total_count * 8, received));
  const auto add = [&]() -> Status {
    STRATALOG_RETURN_IF_ERROR(check_room(shared, 0, all.size()));
    for (const std::string_view text : all) {
      std::uint64_t bits = 0;
      if (text.size() != sizeof(bits)) return Status::internal("new values: cut number");
      std::memcpy(&bits, text.data(), sizeof(bits));
      shared.joint_wides().intern(__builtin_bswap64(bits));
    }
    return Status::ok();
  };
  STRATALOG_RETURN_IF_ERROR(change_tables(comm, shared, add));
  cells.resize(mine.wides().size());
  shared.wides().find_all(mine.wides().values(), cells.data());
  for (Cell& cell : cells) cell += kWideBase;
  return Status::ok();
}

}  // namespace

Result<CellRemapping> agree_on_new_values(Comm& comm, ValueDictionary& shared, NewValues& mine) {
  std::array<std::uint64_t, 5> totals = {
      mine.symbols().size(), mine.symbols().text_bytes() + mine.symbols().size(),
      mine.wides().size(), mine.records().size(), mine.overflowed() ? 1U : 0U};
  STRATALOG_RETURN_IF_ERROR(comm.allreduce(totals, ReduceOp::kSum));
  const auto [symbols, symbol_bytes, wides, records, overflows] = totals;
  if (overflows != 0)
    return Status::no_space(
        "the program made more than 2^30 new values at once, or a symbol of 4 GiB; a recursive "
        "rule may build ever longer strings");
  CellRemapping known;
  if (comm.shares_memory() && comm.size() > 1 && symbols + wides != 0)
    STRATALOG_RETURN_IF_ERROR(join_tables(comm, shared));
  if (symbols != 0)
    STRATALOG_RETURN_IF_ERROR(agree_on_symbols(comm, shared, mine, symbol_bytes, known.symbols));
  if (wides != 0) STRATALOG_RETURN_IF_ERROR(agree_on_wides(comm, shared, mine, wides, known.wides));
  return remap_new_values(comm, shared, mine, std::move(known), records != 0);
}

}  // namespace stratalog
