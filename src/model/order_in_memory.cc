// SPDX-License-Identifier: Apache-2.0
#include "model/order_in_memory.h"

#include <algorithm>
#include <bit>
#include <type_traits>
#include <utility>

#include "base/memory_end.h"
#include "comm/shared_pointers.h"

namespace stratalog {
namespace {

constexpr std::string_view kNoMemory = "not enough memory to number symbols and large numbers";
// What belongs to so many values stays near the processor.
constexpr std::uint64_t kBucketValues = 4096;
// To spread values over more takes longer than it saves.
constexpr std::uint32_t kMostBucketBits = 10;

}  // namespace

template <typename Shown>
OrderInMemory<Shown>::OrderInMemory(Comm& comm, Shown own, const PartEnds& ends)
    : comm_(comm), me_(static_cast<std::uint32_t>(comm.rank())), own_{.values = std::move(own)} {
  own_.ends = ends;
}

// Collective. One step of all ranks, and the end of it.
template <typename Shown>
template <typename Work>
Status OrderInMemory<Shown>::together(Work&& work) {
  return agree(comm_, or_no_space(kNoMemory, [&]() -> Status {
                 if constexpr (std::is_void_v<std::invoke_result_t<Work&>>) {
                   work();
                   return Status::ok();
                 } else {
                   return work();
                 }
               }));
}

template <typename Shown>
Status OrderInMemory<Shown>::order(typename Shown::Table& joint, std::vector<std::uint32_t>& ids) {
  STRATALOG_ASSIGN_OR_RETURN(ranks_, pointers_of_all(comm_, &own_));
  STRATALOG_RETURN_IF_ERROR(together([&] { spread(); }));
  STRATALOG_RETURN_IF_ERROR(together([&] { find_repeated(); }));
  STRATALOG_RETURN_IF_ERROR(together([&] { count_firsts(); }));
  STRATALOG_RETURN_IF_ERROR(together([&] { return me_ == 0 ? extend(joint) : Status::ok(); }));
  STRATALOG_RETURN_IF_ERROR(together([&] { number_firsts(joint); }));
  STRATALOG_RETURN_IF_ERROR(together([&] { fill(joint); }));
  // Nobody's values go away while others read them.
  STRATALOG_RETURN_IF_ERROR(together([&] {
    if (me_ != 0) return;
    for (const Rank* rank : ranks_)
      for (const Tagged& one : rank->left) joint.put(one.tag, one.id);
  }));
  ids = std::move(own_.ids);
  return Status::ok();
}

// The own values in buckets.
template <typename Shown>
void OrderInMemory<Shown>::spread() {
  std::uint64_t all = 0;
  for (const Rank* rank : ranks_) all += rank->values.size();
  bucket_bits_ =
      std::min(kMostBucketBits, static_cast<std::uint32_t>(std::bit_width(all / kBucketValues)));
  const std::vector<std::uint32_t> tags = own_.values.tags();
  std::vector<std::uint64_t> next(bucket_count() + 1);
  for (const std::uint32_t tag : tags) ++next[bucket_of(tag) + 1];
  for (std::size_t b = 1; b < next.size(); ++b) next[b] += next[b - 1];
  own_.bucket_ends.assign(next.begin() + 1, next.end());
  own_.tagged.resize(tags.size());
  for (std::uint32_t id = 0; id < tags.size(); ++id)
    own_.tagged[next[bucket_of(tags[id])]++] = {.tag = tags[id], .id = id};
  own_.ids.assign(tags.size(), 0);
}

template <typename Shown>
void OrderInMemory<Shown>::find_repeated() {
  for (std::uint64_t b = first_bucket(me_); b < first_bucket(me_ + 1); ++b) find_repeated(b);
}

// In the order in which one reader would meet them.
template <typename Shown>
void OrderInMemory<Shown>::find_repeated(std::uint64_t bucket) {
  std::vector<std::span<const Tagged>> left;
  std::uint64_t values = 0;
  std::uint64_t most = 0;
  for (const Rank* rank : ranks_) {
    left.push_back(rank->bucket(bucket));
    values += left.back().size();
    most = std::max(most, left.back().size());
  }
  if (most == values) return;  // one rank's, which differ
  met_bits_ = static_cast<std::uint32_t>(std::bit_width(2 * values));
  met_slots_.assign(std::size_t{1} << met_bits_, {});
  met_.clear();
  for (std::size_t part = 0; part < own_.ends.size(); ++part)
    for (std::uint32_t rank = 0; rank < ranks_.size(); ++rank) {
      std::span<const Tagged>& of_rank = left[rank];
      std::size_t count = 0;
      for (; count < of_rank.size() && of_rank[count].id < ranks_[rank]->ends[part]; ++count)
        meet({.rank = rank, .id = of_rank[count].id}, of_rank[count].tag);
      of_rank = of_rank.subspan(count);
    }
  compare_alike();
}

template <typename Shown>
void OrderInMemory<Shown>::meet(Met met, std::uint32_t tag) {
  const std::size_t mask = met_slots_.size() - 1;
  std::size_t at = (tag << bucket_bits_) >> (32U - met_bits_);
  while (met_slots_[at].met_plus_one != 0 && met_slots_[at].tag != tag) at = (at + 1) & mask;
  if (met_slots_[at].met_plus_one != 0) {
    alike_.push_back({.met = met, .tag = tag, .slot = static_cast<std::uint32_t>(at)});
    return;
  }
  met_.push_back(met);
  met_slots_[at] = {.tag = tag, .met_plus_one = static_cast<std::uint32_t>(met_.size())};
}

// When all of a bucket have been met: their values lie anywhere, and here all are waited for
// together.
template <typename Shown>
void OrderInMemory<Shown>::compare_alike() {
  const std::size_t mask = met_slots_.size() - 1;
  for (const Alike& one : alike_) {
    const Met& first = met_[met_slots_[one.slot].met_plus_one - 1];
    ranks_[one.met.rank]->values.expect(one.met.id);
    ranks_[first.rank]->values.expect(first.id);
  }
  for (const Alike& one : alike_) {
    std::size_t at = one.slot;
    for (; met_slots_[at].met_plus_one != 0; at = (at + 1) & mask)
      if (met_slots_[at].tag == one.tag && is_equal(one.met, met_[met_slots_[at].met_plus_one - 1]))
        break;
    MetSlot& slot = met_slots_[at];
    if (slot.met_plus_one != 0) {
      repeat(one.met, met_[slot.met_plus_one - 1]);
      continue;
    }
    met_.push_back(one.met);
    slot = {.tag = one.tag, .met_plus_one = static_cast<std::uint32_t>(met_.size())};
  }
  alike_.clear();
}

template <typename Shown>
void OrderInMemory<Shown>::repeat(const Met& again, const Met& first) {
  ranks_[again.rank]->ids[again.id] = kRepeated;
  repeated_.push_back({.again = again, .first = first});
}

template <typename Shown>
void OrderInMemory<Shown>::count_firsts() {
  own_.first_bytes = own_.values.all_bytes();
  std::uint64_t firsts = 0;
  std::uint32_t id = 0;
  for (const std::uint64_t end : own_.ends) {
    for (; id < end; ++id)
      if (own_.ids[id] == kRepeated)
        own_.first_bytes -= own_.values.bytes(id);
      else
        ++firsts;
    own_.first_ends.push_back(firsts);
  }
}

template <typename Shown>
Status OrderInMemory<Shown>::extend(typename Shown::Table& joint) const {
  std::uint64_t more = 0;
  std::uint64_t bytes = 0;
  for (const Rank* rank : ranks_) {
    if (!rank->first_ends.empty()) more += rank->first_ends.back();
    bytes += rank->first_bytes;
  }
  if (more > Shown::kMost - joint.size()) return too_many_different(Shown::kName);
  for (const Rank* rank : ranks_) rank->values.give_texts(joint);
  Shown::extend(joint, more, bytes);
  return Status::ok();
}

template <typename Shown>
void OrderInMemory<Shown>::number_firsts(typename Shown::Table& joint) {
  std::uint64_t next = joint.size();
  for (const Rank* rank : ranks_)
    if (!rank->first_ends.empty()) next -= rank->first_ends.back();
  std::uint32_t id = 0;
  for (std::size_t part = 0; part < own_.ends.size(); ++part)
    for (const Rank* rank : ranks_) {
      if (rank != &own_) {
        next += rank->first_ends[part] - (part == 0 ? 0 : rank->first_ends[part - 1]);
        continue;
      }
      for (; id < own_.ends[part]; ++id) {
        if (own_.ids[id] == kRepeated) continue;
        own_.ids[id] = static_cast<std::uint32_t>(next++);
        own_.values.show(joint, own_.ids[id], id);
      }
    }
}

// This rank's part of the slots: its buckets'.
template <typename Shown>
void OrderInMemory<Shown>::fill(typename Shown::Table& joint) {
  const auto slot_from = [&](std::uint64_t bucket) {
    return bucket == bucket_count()
               ? joint.slot_count()
               : joint.slot_of(static_cast<std::uint32_t>(bucket << (32U - bucket_bits_)));
  };
  // Where several buckets had one slot, it would be several ranks'.
  const bool is_alone = joint.slot_count() < bucket_count();
  const std::size_t end = is_alone ? 0 : slot_from(first_bucket(me_ + 1));
  for (std::uint64_t b = first_bucket(me_); b < first_bucket(me_ + 1); ++b)
    for (const Rank* rank : ranks_)
      for (const Tagged& one : rank->bucket(b)) {
        const std::uint32_t id = rank->ids[one.id];
        if (id != kRepeated && !joint.put(one.tag, id, end))
          own_.left.push_back({.tag = one.tag, .id = id});
      }
  for (const Repeated& repeated : repeated_)
    ranks_[repeated.again.rank]->ids[repeated.again.id] =
        ranks_[repeated.first.rank]->ids[repeated.first.id];
}

template class OrderInMemory<ShownSymbols>;
template class OrderInMemory<ShownWides>;

}  // namespace stratalog
