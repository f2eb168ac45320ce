// SPDX-License-Identifier: Apache-2.0
// OrderInMemory: the part of agree_on_values_in_order (ordered_agreement.h) for ranks that share
// memory, and one table. Nothing is sent: each rank takes a range of hashes, looks in the new
// values of all ranks for those that come again, and fills that part of the table. Collective.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "comm/comm.h"
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
  std::vector<std::uint32_t> tags() const { return table_->tags(); }
  bool is_equal(std::uint32_t id, const ShownSymbols& other, std::uint32_t id_there) const {
    return table_->text(id) == other.table_->text(id_there);
  }
  // It will be compared soon.
  void expect(std::uint32_t id) const { table_->expect(id); }
  std::uint64_t bytes(std::uint32_t id) const { return table_->text(id).size(); }
  std::uint64_t all_bytes() const { return table_->text_bytes(); }
  // On one rank. Before all show theirs.
  void give_texts(SymbolTable& joint) const { joint.share_texts(*table_); }
  static void extend(SymbolTable& joint, std::uint64_t more, std::uint64_t bytes) {
    joint.extend(more, bytes);
  }
  void show(SymbolTable& joint, std::uint32_t id_there, std::uint32_t id) const {
    joint.show_text(id_there, *table_, id);
  }

 private:
  const SymbolTable* table_;
};

// The same for large numbers.
class ShownWides {
 public:
  using Table = WideTable;
  static constexpr std::uint64_t kMost = WideTable::kMaxValues;
  static constexpr std::string_view kName = "large numbers";

  explicit ShownWides(const WideTable& table) : table_(&table) {}
  std::uint64_t size() const { return table_->size(); }
  std::vector<std::uint32_t> tags() const {
    std::vector<std::uint32_t> tags;
    tags.reserve(size());
    for (const std::uint64_t bits : table_->values()) tags.push_back(WideTable::tag(bits));
    return tags;
  }
  bool is_equal(std::uint32_t id, const ShownWides& other, std::uint32_t id_there) const {
    return table_->bits(id) == other.table_->bits(id_there);
  }
  void expect(std::uint32_t id) const { __builtin_prefetch(&table_->values()[id]); }
  static std::uint64_t bytes(std::uint32_t /*id*/) { return 0; }
  static std::uint64_t all_bytes() { return 0; }
  static void give_texts(WideTable& /*joint*/) {}
  static void extend(WideTable& joint, std::uint64_t more, std::uint64_t /*bytes*/) {
    joint.extend(more);
  }
  void show(WideTable& joint, std::uint32_t id_there, std::uint32_t id) const {
    joint.show_value(id_there, table_->bits(id));
  }

 private:
  const WideTable* table_;
};

template <typename Shown>
class OrderInMemory {
 public:
  // `ends`: of the parts of `own`, which must outlive the object.
  OrderInMemory(Comm& comm, Shown own, const PartEnds& ends);

  // Collective. All ranks' new values, none of which is in `joint`, the table of all of them, join
  // it in order. `ids`: of this rank's. NoSpace, on all ranks.
  Status order(typename Shown::Table& joint, std::vector<std::uint32_t>& ids);

 private:
  // Tags ascend from bucket to bucket, and ids within one.
  struct Tagged {
    std::uint32_t tag = 0;
    std::uint32_t id = 0;
  };
  // What a rank shows to the others, between meetings. Each writes where nobody else does.
  struct Rank {
    Shown values;
    PartEnds ends = {};
    std::vector<Tagged> tagged = {};
    std::vector<std::uint64_t> bucket_ends = {};
    std::vector<std::uint32_t> ids = {};  // in the joint table; kRepeated where not known yet
    PartEnds first_ends = {};  // of the parts among those that nobody has met before
    std::uint64_t first_bytes = 0;
    std::vector<Tagged> left = {};  // no room in this rank's part of the slots; ids are joint ones

    std::span<const Tagged> bucket(std::uint64_t b) const {
      const std::uint64_t begin = b == 0 ? 0 : bucket_ends[b - 1];
      return std::span(tagged).subspan(begin, bucket_ends[b] - begin);
    }
  };
  struct Met {
    std::uint32_t rank = 0;
    std::uint32_t id = 0;
  };
  struct Repeated {
    Met again;
    Met first;
  };
  // Where one bucket's values have been met.
  struct MetSlot {
    std::uint32_t tag = 0;
    std::uint32_t met_plus_one = 0;
  };
  // Has the tag of what was met before, and then nearly always is the same.
  struct Alike {
    Met met;
    std::uint32_t tag = 0;
    std::uint32_t slot = 0;
  };
  static constexpr std::uint32_t kRepeated = ~std::uint32_t{0};

  template <typename Work>
  Status together(Work&& work);
  std::uint64_t bucket_count() const { return std::uint64_t{1} << bucket_bits_; }
  std::uint64_t bucket_of(std::uint32_t tag) const {
    return bucket_bits_ == 0 ? 0 : tag >> (32U - bucket_bits_);
  }
  // Of the buckets of `rank`.
  std::uint64_t first_bucket(std::uint64_t rank) const {
    return bucket_count() * rank / ranks_.size();
  }
  void spread();
  void find_repeated();
  void find_repeated(std::uint64_t bucket);
  void meet(Met met, std::uint32_t tag);
  void compare_alike();
  bool is_equal(const Met& one, const Met& other) const {
    return one.rank != other.rank &&  // of one rank all differ
           ranks_[one.rank]->values.is_equal(one.id, ranks_[other.rank]->values, other.id);
  }
  void repeat(const Met& again, const Met& first);
  void count_firsts();
  Status extend(typename Shown::Table& joint) const;
  void number_firsts(typename Shown::Table& joint);
  void fill(typename Shown::Table& joint);

  Comm& comm_;
  std::uint32_t me_;
  std::uint32_t bucket_bits_ = 0;
  Rank own_;
  std::vector<Rank*> ranks_;
  std::vector<Met> met_;  // of the bucket at hand
  std::vector<MetSlot> met_slots_;
  std::uint32_t met_bits_ = 0;
  std::vector<Alike> alike_;
  std::vector<Repeated> repeated_;  // of this rank's buckets
};

extern template class OrderInMemory<ShownSymbols>;
extern template class OrderInMemory<ShownWides>;

}  // namespace stratalog
