// SPDX-License-Identifier: Apache-2.0
#include "model/ordered_wides.h"

#include <cstring>
#include <utility>
#include <vector>

#include "model/multiset_hash.h"
#include "model/value_origin.h"

namespace stratalog {
namespace {

using Numbers = std::vector<std::uint64_t>;

// Up to here everybody gets everything: cheaper than two more exchanges.
constexpr std::uint64_t kFewNumbers = std::uint64_t{1} << 15;

// A message begins with how many numbers of each part follow.
void count_parts(std::span<const std::uint64_t> ends, Numbers& message) {
  std::uint64_t begin = 0;
  for (const std::uint64_t end : ends) {
    message.push_back(end - begin);
    begin = end;
  }
}

std::span<const std::byte> bytes_of(const Numbers& numbers) {
  return std::as_bytes(std::span(numbers));
}

// What one rank sent.
class PartsOfRank {
 public:
  static Result<PartsOfRank> read(std::span<const std::byte> message, std::size_t parts) {
    PartsOfRank read;
    if (message.size() % sizeof(std::uint64_t) != 0 ||
        message.size() < parts * sizeof(std::uint64_t))
      return Status::internal("new numbers: cut message");
    read.numbers_.resize(message.size() / sizeof(std::uint64_t));
    if (!message.empty()) std::memcpy(read.numbers_.data(), message.data(), message.size());
    read.at_ = parts;
    std::uint64_t left = read.numbers_.size() - parts;
    for (std::size_t p = 0; p < parts; ++p) {
      if (read.numbers_[p] > left) return Status::internal("new numbers: cut message");
      left -= read.numbers_[p];
    }
    if (left != 0) return Status::internal("new numbers: a message is too long");
    return read;
  }
  std::uint64_t size(std::size_t parts) const { return numbers_.size() - parts; }
  // Of the parts one after the other.
  std::span<const std::uint64_t> next_part(std::size_t part) {
    const auto here = std::span(numbers_).subspan(at_, numbers_[part]);
    at_ += here.size();
    return here;
  }

 private:
  Numbers numbers_;
  std::size_t at_ = 0;
};

Result<std::vector<PartsOfRank>> read_all(const Received& received, std::size_t parts) {
  std::vector<PartsOfRank> all;
  std::span<const std::byte> rest(received.data);
  for (const std::uint64_t bytes : received.counts) {
    STRATALOG_ASSIGN_OR_RETURN(PartsOfRank one, PartsOfRank::read(rest.first(bytes), parts));
    all.push_back(std::move(one));
    rest = rest.subspan(bytes);
  }
  return all;
}

// Visits part by part, and within one rank by rank.
template <typename Visit>
void for_each_part(std::vector<PartsOfRank>& ranks, std::size_t parts, Visit&& visit) {
  for (std::size_t part = 0; part < parts; ++part)
    for (std::size_t rank = 0; rank < ranks.size(); ++rank)
      visit(rank, ranks[rank].next_part(part));
}

// The low bits choose slots of tables.
std::size_t owner_of(std::uint64_t bits, std::size_t ranks) {
  return (splitmix64(bits) >> 32U) % ranks;
}

// A bit for each number that a rank sent here: whether it is the first one of its kind.
std::vector<Bytes> mark_firsts(std::vector<PartsOfRank>& dealt, std::size_t parts) {
  std::vector<Bytes> marks;
  std::uint64_t total = 0;
  for (const PartsOfRank& sent : dealt) {
    marks.emplace_back((sent.size(parts) + 7) / 8);
    total += sent.size(parts);
  }
  WideTable known;
  known.reserve(total);
  std::vector<std::uint64_t> done(dealt.size(), 0);
  for_each_part(dealt, parts, [&](std::size_t rank, std::span<const std::uint64_t> numbers) {
    std::uint64_t next_id = known.size();
    known.intern_all(numbers, [&](std::size_t i, std::uint32_t id) {
      if (id != next_id) return;
      ++next_id;
      const std::uint64_t at = done[rank] + i;
      marks[rank][at / 8] |= static_cast<std::byte>(1U << (at % 8));
    });
    done[rank] += numbers.size();
  });
  return marks;
}

// Of this rank's numbers those that come first among all ranks'.
struct Firsts {
  Numbers message;
  std::vector<bool> is_first;  // by place
};

// Collective.
Result<Firsts> keep_first_wides(Comm& comm, std::span<const std::uint64_t> mine,
                                std::span<const std::uint64_t> ends) {
  const auto ranks = static_cast<std::size_t>(comm.size());
  std::vector<Numbers> to(ranks, Numbers(ends.size(), 0));
  std::uint64_t at = 0;
  for (std::size_t part = 0; part < ends.size(); ++part)
    for (; at < ends[part]; ++at) {
      Numbers& message = to[owner_of(mine[at], ranks)];
      message.push_back(mine[at]);
      ++message[part];
    }
  Numbers packed;
  std::vector<std::uint64_t> counts;
  packed.reserve(mine.size() + (ranks * ends.size()));
  for (Numbers& message : to) {
    packed.insert(packed.end(), message.begin(), message.end());
    counts.push_back(message.size() * sizeof(std::uint64_t));
    message = {};
  }
  STRATALOG_ASSIGN_OR_RETURN(const Received received, comm.exchange(bytes_of(packed), counts));
  STRATALOG_ASSIGN_OR_RETURN(auto dealt, read_all(received, ends.size()));
  const std::vector<Bytes> marks = mark_firsts(dealt, ends.size());
  Bytes answer;
  for (std::size_t r = 0; r < ranks; ++r) {
    answer.insert(answer.end(), marks[r].begin(), marks[r].end());
    counts[r] = marks[r].size();
  }
  STRATALOG_ASSIGN_OR_RETURN(const Received told, comm.exchange(answer, counts));
  std::vector<std::uint64_t> next_bit;  // of each owner's marks, in `told`
  std::uint64_t bytes = 0;
  for (const std::uint64_t count : told.counts) {
    next_bit.push_back(bytes * 8);
    bytes += count;
  }
  Firsts firsts{.message = Numbers(ends.size(), 0), .is_first = std::vector<bool>(mine.size())};
  at = 0;
  for (std::size_t part = 0; part < ends.size(); ++part)
    for (; at < ends[part]; ++at) {
      const std::uint64_t bit = next_bit[owner_of(mine[at], ranks)]++;
      if (bit / 8 >= told.data.size()) return Status::internal("new numbers: cut answer");
      if ((std::to_integer<unsigned>(told.data[bit / 8]) >> (bit % 8) & 1U) == 0) continue;
      firsts.is_first[at] = true;
      firsts.message.push_back(mine[at]);
      ++firsts.message[part];
    }
  return firsts;
}

// Collective. Everybody's numbers, by rank.
Result<std::vector<PartsOfRank>> tell_all(Comm& comm, const Numbers& message, std::size_t parts) {
  STRATALOG_ASSIGN_OR_RETURN(const Received received, comm.allgather(bytes_of(message)));
  return read_all(received, parts);
}

Status make_room(WideTable& shared, const std::vector<PartsOfRank>& all, std::size_t parts) {
  std::uint64_t more = 0;
  for (const PartsOfRank& one : all) more += one.size(parts);
  if (more > WideTable::kMaxValues - shared.size()) return too_many_different("large numbers");
  shared.reserve(more);
  return Status::ok();
}

// Collective.
Result<std::vector<std::uint32_t>> order_few(Comm& comm, WideTable& shared,
                                             std::span<const std::uint64_t> mine,
                                             std::span<const std::uint64_t> ends) {
  Numbers message;
  count_parts(ends, message);
  message.insert(message.end(), mine.begin(), mine.end());
  STRATALOG_ASSIGN_OR_RETURN(auto all, tell_all(comm, message, ends.size()));
  STRATALOG_RETURN_IF_ERROR(make_room(shared, all, ends.size()));
  for_each_part(all, ends.size(), [&](std::size_t /*rank*/, std::span<const std::uint64_t> part) {
    shared.intern_all(part, [](std::size_t /*i*/, std::uint32_t /*id*/) {});
  });
  std::vector<std::uint32_t> ids(mine.size());
  shared.intern_all(mine, [&](std::size_t i, std::uint32_t id) { ids[i] = id; });
  return ids;
}

// Collective.
Result<std::vector<std::uint32_t>> order_many(Comm& comm, WideTable& shared,
                                              std::span<const std::uint64_t> mine,
                                              std::span<const std::uint64_t> ends) {
  STRATALOG_ASSIGN_OR_RETURN(Firsts firsts, keep_first_wides(comm, mine, ends));
  STRATALOG_ASSIGN_OR_RETURN(auto all, tell_all(comm, firsts.message, ends.size()));
  firsts.message = {};
  STRATALOG_RETURN_IF_ERROR(make_room(shared, all, ends.size()));
  Numbers begins;  // ids of this rank's first ones of each part
  for_each_part(all, ends.size(), [&](std::size_t rank, std::span<const std::uint64_t> part) {
    if (rank == static_cast<std::size_t>(comm.rank())) begins.push_back(shared.size());
    shared.append_new(part);
  });
  std::vector<std::uint32_t> ids(mine.size());
  Numbers others;  // that somebody else has met before
  std::vector<std::size_t> places;
  std::size_t at = 0;
  for (std::size_t part = 0; part < ends.size(); ++part)
    for (std::uint64_t next = begins[part]; at < ends[part]; ++at) {
      if (firsts.is_first[at]) {
        ids[at] = static_cast<std::uint32_t>(next++);
        continue;
      }
      others.push_back(mine[at]);
      places.push_back(at);
    }
  shared.intern_all(others, [&](std::size_t i, std::uint32_t id) { ids[places[i]] = id; });
  return ids;
}

}  // namespace

Result<std::vector<std::uint32_t>> order_wides(Comm& comm, WideTable& shared,
                                               std::span<const std::uint64_t> mine,
                                               std::span<const std::uint64_t> ends) {
  std::uint64_t total = mine.size();
  STRATALOG_RETURN_IF_ERROR(comm.allreduce(std::span(&total, 1), ReduceOp::kSum));
  return total <= kFewNumbers || comm.size() == 1 ? order_few(comm, shared, mine, ends)
                                                  : order_many(comm, shared, mine, ends);
}

}  // namespace stratalog
