// SPDX-License-Identifier: Apache-2.0
// OrderInMemory: the part of agree_on_values_in_order (ordered_agreement.h) for ranks that share
// memory. Nothing is sent: they look for their new values in each other's tables, where these lie.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/memory_end.h"
#include "base/result.h"
#include "comm/comm.h"
#include "comm/shared_pointers.h"
#include "model/symbol_table.h"
#include "model/value_origin.h"
#include "model/wide_table.h"

namespace stratalog {

// The new symbols of a rank, by id.
class ShownSymbols {
 public:
  using Table = SymbolTable;
  static constexpr std::uint64_t kMost = SymbolTable::kMaxSymbols;
  static constexpr std::string_view kName = "symbols";

  explicit ShownSymbols(const SymbolTable& table) : table_(&table) {}
  std::uint64_t size() const { return table_->size(); }
  void find_hashes();
  // The ids in `other` of those from `begin` on, kNotThere if it has them not. Requires the hashes.
  void find_in(const ShownSymbols& other, std::uint64_t begin, std::span<std::uint32_t> ids) const;
  // Before any is appended. One of all ranks, `is_own`, counts the memory.
  void prepare(SymbolTable& shared, bool is_own) const;
  // Those with `ids` get new ids in `shared`, which has none of them. Requires the
  // hashes, and prepare().
  void append(SymbolTable& shared, std::span<const std::uint32_t> ids) const;

 private:
  const SymbolTable* table_;
  std::vector<std::uint64_t> hashes_;
};

// The same for large numbers.
class ShownWides {
 public:
  using Table = WideTable;
  static constexpr std::uint64_t kMost = WideTable::kMaxValues;
  static constexpr std::string_view kName = "large numbers";

  explicit ShownWides(const WideTable& table) : table_(&table) {}
  std::uint64_t size() const { return table_->size(); }
  void find_hashes() {}
  void find_in(const ShownWides& other, std::uint64_t begin, std::span<std::uint32_t> ids) const {
    other.table_->find_all(table_->values().subspan(begin, ids.size()), ids.data());
  }
  void prepare(WideTable& /*shared*/, bool /*is_own*/) const {}
  void append(WideTable& shared, std::span<const std::uint32_t> ids) const;

 private:
  const WideTable* table_;
};

template <typename Shown>
class OrderInMemory {
 public:
  // `ends`: of the parts of `own`, which must outlive the object.
  OrderInMemory(Comm& comm, Shown own, const PartEnds& ends)
      : comm_(comm), me_(static_cast<std::uint32_t>(comm.rank())), own_{.values = std::move(own)} {
    own_.ends = ends;
  }

  // Collective. All ranks' new values, none of which is in `shared`, join it in order. `ids`: of
  // this rank's. NoSpace, on all ranks.
  Status order(typename Shown::Table& shared, std::vector<std::uint32_t>& ids) {
    STRATALOG_ASSIGN_OR_RETURN(ranks_, pointers_of_all(comm_, &std::as_const(own_)));
    STRATALOG_RETURN_IF_ERROR(agree(comm_, or_no_space(kNoMemory, [&] {
                                      find_firsts();
                                      return Status::ok();
                                    })));
    // Nobody's values go away while others read them.
    return agree(comm_, or_no_space(kNoMemory, [&] { return fill(shared, ids); }));
  }

 private:
  // What a rank shows to the others. They read it between meetings only.
  struct Rank {
    Shown values;
    PartEnds ends = {};
    std::vector<std::uint32_t> firsts = {};  // ids of those that nobody has met before, ascending
    PartEnds first_ends = {};  // of the parts among them
    std::uint64_t first_begin(std::size_t part) const {
      return part == 0 ? 0 : first_ends[part - 1];
    }
  };
  struct Repeated {
    std::uint32_t id = 0;
    Origin first;
  };
  static constexpr std::uint64_t kAtOnce = 1024;
  static constexpr std::string_view kNoMemory =
      "not enough memory to number symbols and large numbers";

  void find_firsts() {
    own_.values.find_hashes();
    std::vector<Origin> firsts(kAtOnce);
    std::uint64_t begin = 0;
    for (std::uint32_t part = 0; part < own_.ends.size(); ++part) {
      for (std::uint64_t end = 0; begin < own_.ends[part]; begin = end) {
        end = std::min(own_.ends[part], begin + kAtOnce);
        find_firsts(part, begin, std::span(firsts).first(end - begin));
        for (std::uint64_t id = begin; id < end; ++id) {
          const Origin& first = firsts[id - begin];
          if (first.rank == me_)
            own_.firsts.push_back(static_cast<std::uint32_t>(id));
          else
            repeated_.push_back({.id = static_cast<std::uint32_t>(id), .first = first});
        }
      }
      own_.first_ends.push_back(own_.firsts.size());
    }
  }

  // Of the own values from `begin` on, which were met in `part`.
  void find_firsts(std::uint32_t part, std::uint64_t begin, std::span<Origin> firsts) {
    for (std::size_t i = 0; i < firsts.size(); ++i)
      firsts[i] = {.part = part, .rank = me_, .place = static_cast<std::uint32_t>(begin + i)};
    std::array<std::uint32_t, kAtOnce> found;  // NOLINT: filled as far as it is read
    for (std::uint32_t rank = 0; rank < ranks_.size(); ++rank) {
      if (rank == me_) continue;
      const Rank& other = *ranks_[rank];
      own_.values.find_in(other.values, begin, std::span(found).first(firsts.size()));
      for (std::size_t i = 0; i < firsts.size(); ++i)
        if (const std::uint32_t id = found[i]; id != Shown::Table::kNotThere)
          firsts[i] =
              std::min(firsts[i], {.part = part_of(other.ends, id), .rank = rank, .place = id});
    }
  }

  Status fill(typename Shown::Table& shared, std::vector<std::uint32_t>& ids) {
    std::uint64_t more = 0;
    for (const Rank* rank : ranks_) more += rank->firsts.size();
    if (more > Shown::kMost - shared.size()) return too_many_different(Shown::kName);
    shared.reserve(more);
    for (const Rank* rank : ranks_) rank->values.prepare(shared, rank == &own_);
    // The id of the first one of each part and rank.
    std::vector<std::uint64_t> begins;
    for (std::size_t part = 0; part < own_.ends.size(); ++part)
      for (const Rank* rank : ranks_) {
        begins.push_back(shared.size());
        const std::uint64_t begin = rank->first_begin(part);
        rank->values.append(shared,
                            std::span(rank->firsts).subspan(begin, rank->first_ends[part] - begin));
      }
    ids.resize(own_.values.size());
    for (std::size_t part = 0; part < own_.ends.size(); ++part) {
      std::uint64_t next = begins[(part * ranks_.size()) + me_];
      for (std::uint64_t i = own_.first_begin(part); i < own_.first_ends[part]; ++i)
        ids[own_.firsts[i]] = static_cast<std::uint32_t>(next++);
    }
    for (const Repeated& repeated : repeated_) {
      const Origin& first = repeated.first;
      const Rank& rank = *ranks_[first.rank];
      const auto at = static_cast<std::uint64_t>(
          std::lower_bound(rank.firsts.begin(), rank.firsts.end(), first.place) -
          rank.firsts.begin());
      ids[repeated.id] = static_cast<std::uint32_t>(
          begins[(first.part * ranks_.size()) + first.rank] + at - rank.first_begin(first.part));
    }
    return Status::ok();
  }

  Comm& comm_;
  std::uint32_t me_;
  Rank own_;
  std::vector<const Rank*> ranks_;
  std::vector<Repeated> repeated_;  // of this rank's, those that others have met before
};

}  // namespace stratalog
