// SPDX-License-Identifier: Apache-2.0
// What every implementation of Comm must do, as one collective function, so that SelfComm, SimComm
// and MpiComm answer the same questions. Returns Internal with the broken promise; no gtest inside,
// because ranks may be threads or processes. Every rank takes part in every call, also after it
// found a failure.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "comm/comm.h"

namespace stratalog {

inline Bytes bytes_of(const std::string& text) {
  Bytes bytes(text.size());
  if (!text.empty()) std::memcpy(bytes.data(), text.data(), text.size());
  return bytes;
}

inline std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// What rank `from` sends to rank `to` in round `seed`: often nothing, sometimes much.
inline std::string contract_letter(int from, int to, std::uint64_t seed) {
  const std::uint64_t mix =
      (static_cast<std::uint64_t>(from) * 31 + static_cast<std::uint64_t>(to) * 17 + seed * 7) % 11;
  if (mix < 4) return {};
  std::string letter = fmt::format("{}->{}#{};", from, to, seed);
  while (letter.size() < mix * 13) letter += letter;
  return letter;
}

class ContractLog {
 public:
  void expect(bool holds, const std::string& promise) {
    if (!holds && first_.empty()) first_ = promise;
  }
  void expect(const Status& status, const std::string& call) {
    expect(status.is_ok(), call + ": " + status.to_string());
  }
  Status status() const { return first_.empty() ? Status::ok() : Status::internal(first_); }

 private:
  std::string first_;
};

// Three that ranks look at while they might do other things, and collective calls before and after.
inline void check_reductions_under_way(Comm& comm, std::uint64_t seed, ContractLog& log) {
  const auto size = static_cast<std::uint64_t>(comm.size());
  const auto rank = static_cast<std::uint64_t>(comm.rank());
  for (std::uint64_t turn = 0; turn < 3; ++turn) {
    auto begun = comm.begin_allreduce({rank + turn, seed}, ReduceOp::kMax);
    log.expect(begun.status(), "begin_allreduce");
    if (!begun.is_ok()) return;
    ReductionUnderWay& reduction = *begun.value();
    // The last one is waited for.
    for (bool done = turn == 2; !done;) {
      const Result<bool> looked = reduction.is_done();
      log.expect(looked.status(), "is_done");
      done = !looked.is_ok() || looked.value();
    }
    if (turn == 2) log.expect(reduction.wait(), "wait for a reduction");
    const auto values = reduction.values();
    log.expect(values.size() == 2 && values[0] == size - 1 + turn && values[1] == seed,
               "a reduction under way ends with the result of allreduce");
  }
  log.expect(comm.reduces_beside() || !comm.shares_memory(), "threads reduce beside other work");
  log.expect(comm.barrier(), "barrier after reductions under way");
}

// Every rank posts letters to every other, in an order that differs from rank to rank; some are
// taken as they come, the others waited for. Posts of one sender stay in order.
inline void check_posts(Comm& comm, std::uint64_t seed, ContractLog& log) {
  if (!comm.has_post()) {
    log.expect(!comm.may_post() && !comm.post(0, {}).is_ok() && !comm.take_post().is_ok() &&
                   !comm.await_post(0).is_ok(),
               "a group without posts refuses them");
    return;
  }
  constexpr std::uint64_t kLetters = 5;
  const int size = comm.size();
  for (std::uint64_t letter = 0; letter < kLetters; ++letter)
    for (int hop = 1; hop < size; ++hop) {
      const int to = (comm.rank() + hop) % size;
      log.expect(comm.post(to, bytes_of(contract_letter(comm.rank(), to, seed + letter))), "post");
    }
  std::vector<std::uint64_t> taken(static_cast<std::size_t>(size));
  const auto read = [&](int sender, const Bytes& data) {
    std::uint64_t& at = taken[static_cast<std::size_t>(sender)];
    log.expect(text_of(data) == contract_letter(sender, comm.rank(), seed + at),
               "posts of a sender arrive in order");
    ++at;
  };
  for (int look = 0; look < 3 * size; ++look) {
    auto post = comm.take_post();
    log.expect(post.status(), "take_post");
    if (post.is_ok() && post.value()) read(post.value()->sender, post.value()->data);
  }
  for (int hop = size - 1; hop > 0; --hop) {
    const int from = (comm.rank() + hop) % size;
    while (taken[static_cast<std::size_t>(from)] < kLetters) {
      auto data = comm.await_post(from);
      log.expect(data.status(), "await_post");
      if (!data.is_ok()) return;
      read(from, data.value());
    }
  }
  log.expect(comm.barrier(), "barrier after posts");
  const Result<std::optional<Post>> none = comm.take_post();
  log.expect(none.is_ok() && !none.value(), "no post is taken twice");
  log.expect(comm.barrier(), "barrier before other posts");
  log.expect(!comm.post(size, {}).is_ok() && !comm.await_post(-1).is_ok(), "nobody is there");
}

inline void check_reductions(Comm& comm, std::uint64_t seed, ContractLog& log) {
  const auto size = static_cast<std::uint64_t>(comm.size());
  const auto rank = static_cast<std::uint64_t>(comm.rank());
  const std::uint64_t big = (std::uint64_t{1} << 40U) + seed;
  std::vector<std::uint64_t> values{rank + big, 1, rank == 0 ? 0U : 5U};
  log.expect(comm.allreduce(values, ReduceOp::kSum), "allreduce sum");
  log.expect(values[0] == (size * (size - 1) / 2) + (size * big), "sum is 64 bits wide");
  log.expect(values[1] == size && values[2] == 5 * (size - 1), "sum is element-wise");
  std::uint64_t value = big - rank;
  log.expect(comm.allreduce(std::span(&value, 1), ReduceOp::kMin), "allreduce min");
  log.expect(value == big - (size - 1), "min");
  value = ~std::uint64_t{0} - rank;
  log.expect(comm.allreduce(std::span(&value, 1), ReduceOp::kMax), "allreduce max");
  log.expect(value == ~std::uint64_t{0}, "max is unsigned");
  value = std::uint64_t{1} << (rank % 64);
  log.expect(comm.allreduce(std::span(&value, 1), ReduceOp::kBitOr), "allreduce or");
  log.expect(value == (size >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << size) - 1), "or");
  log.expect(comm.allreduce({}, ReduceOp::kSum), "allreduce of nothing");
}

inline void check_copies(Comm& comm, std::uint64_t seed, ContractLog& log) {
  const int size = comm.size();
  for (const int root : {0, size - 1, size / 2}) {
    const std::string news = contract_letter(root, root + 1, seed);
    Bytes data = bytes_of(comm.rank() == root ? news : "to be replaced");
    log.expect(comm.broadcast(data, root), "broadcast");
    log.expect(text_of(data) == news, "broadcast replaces everyone's bytes");

    const std::string mine = contract_letter(comm.rank(), root, seed);
    auto gathered = comm.gather(bytes_of(mine), root);
    log.expect(gathered.status(), "gather");
    if (!gathered.is_ok()) continue;
    const Received& received = gathered.value();
    log.expect(received.counts.size() == static_cast<std::size_t>(size),
               "gather has size() counts");
    if (comm.rank() != root) log.expect(received.data.empty(), "gather gives only the root data");
    for (int r = 0; r < size && comm.rank() == root; ++r)
      log.expect(text_of(received.from(r)) == contract_letter(r, root, seed), "gather's parts");
  }
  auto all = comm.allgather(bytes_of(contract_letter(comm.rank(), 0, seed)));
  log.expect(all.status(), "allgather");
  for (int r = 0; r < size && all.is_ok(); ++r)
    log.expect(text_of(all.value().from(r)) == contract_letter(r, 0, seed), "allgather's parts");
}

inline void check_exchange_of_letters(Comm& comm, std::uint64_t seed, ContractLog& log) {
  const int size = comm.size();
  std::string letters;
  std::vector<std::uint64_t> counts;
  for (int to = 0; to < size; ++to) {
    const std::string letter = contract_letter(comm.rank(), to, seed);
    letters += letter;
    counts.push_back(letter.size());
  }
  auto exchanged = comm.exchange(bytes_of(letters), counts);
  log.expect(exchanged.status(), "exchange");
  for (int r = 0; r < size && exchanged.is_ok(); ++r)
    log.expect(text_of(exchanged.value().from(r)) == contract_letter(r, comm.rank(), seed),
               "exchange's parts");

  // Nobody sends anything.
  exchanged = comm.exchange({}, std::vector<std::uint64_t>(static_cast<std::size_t>(size), 0));
  log.expect(exchanged.status(), "empty exchange");
  if (exchanged.is_ok())
    log.expect(exchanged.value().data.empty() &&
                   exchanged.value().counts.size() == static_cast<std::size_t>(size),
               "an empty exchange has size() zero counts");
}

// The letters that are not empty, to and from few; then parcels of which some are large, and none.
inline void check_parcels_of_letters(Comm& comm, std::uint64_t seed, ContractLog& log) {
  const auto letter = [&](int from, int to, int turn) -> std::string {
    if ((from + to + turn) % 3 == 0) return {};
    std::string text = contract_letter(from, to, seed);
    // Around what travels with a parcel's head, and much more.
    if (turn == 1 && !text.empty() && from % 2 == 0)
      text.resize(4080 + static_cast<std::size_t>(16 * to), 'x');
    if (turn == 1 && !text.empty() && to == 0) text.resize(9001, 'y');
    return turn == 2 ? std::string() : text;
  };
  for (int turn = 0; turn < 5; ++turn) {
    std::string letters;
    std::vector<Parcel> parcels;
    for (int to = 0; to < comm.size(); ++to) {
      const std::string mine = letter(comm.rank(), to, turn);
      if (mine.empty()) continue;
      letters += mine;
      parcels.push_back({.rank = to, .bytes = mine.size()});
    }
    auto exchanged = comm.exchange_parcels(bytes_of(letters), parcels);
    log.expect(exchanged.status(), "exchange_parcels");
    if (!exchanged.is_ok()) return;
    std::string expected;
    std::vector<Parcel> senders;
    for (int from = 0; from < comm.size(); ++from) {
      const std::string his = letter(from, comm.rank(), turn);
      if (his.empty()) continue;
      expected += his;
      senders.push_back({.rank = from, .bytes = his.size()});
    }
    log.expect(exchanged.value().parcels == senders, "parcels come in the order of their senders");
    log.expect(text_of(exchanged.value().data) == expected, "parcels come whole");
  }
}

// A rank whose own arguments are wrong gets an error; the others are not left waiting.
inline void check_refusals(Comm& comm, ContractLog& log) {
  const auto size = static_cast<std::size_t>(comm.size());
  const int culprit = comm.size() - 1;
  const Bytes byte(1);
  std::vector<std::uint64_t> counts(size, 0);
  counts[0] = comm.rank() == culprit ? 2 : 1;
  const auto exchanged = comm.exchange(byte, counts);
  if (comm.rank() == culprit)
    log.expect(exchanged.status().code() == StatusCode::kInvalidArgument, "wrong counts refused");
  else
    log.expect(exchanged.status(), "exchange beside a rank with wrong counts");
  for (const std::vector<Parcel>& wrong :
       {std::vector<Parcel>{{.rank = 0, .bytes = 2}}, std::vector<Parcel>{{.rank = 0, .bytes = 0}},
        std::vector<Parcel>{{.rank = comm.size(), .bytes = 1}}, std::vector<Parcel>{},
        std::vector<Parcel>{{.rank = 0, .bytes = 1}, {.rank = 0, .bytes = 1}}}) {
    const std::vector<Parcel> right{{.rank = 0, .bytes = 1}};
    const auto sparse = comm.exchange_parcels(byte, comm.rank() == culprit ? wrong : right);
    if (comm.rank() == culprit)
      log.expect(sparse.status().code() == StatusCode::kInvalidArgument, "wrong parcels refused");
    else
      log.expect(sparse.status(), "exchange_parcels beside a rank with wrong parcels");
  }
  Bytes data;
  log.expect(comm.broadcast(data, comm.size()).code() == StatusCode::kInvalidArgument,
             "broadcast from no rank");
  log.expect(comm.gather(data, -1).status().code() == StatusCode::kInvalidArgument,
             "gather on no rank");
}

inline void check_agreement(Comm& comm, ContractLog& log) {
  log.expect(agree(comm, Status::ok()), "agree on OK");
  const int last = comm.size() - 1;
  Status mine;
  if (comm.rank() == last) mine = Status::io_error("worse");
  if (comm.rank() == 0 && last > 0) mine = Status::not_found("milder");
  const Status verdict = agree(comm, mine);
  const std::string prefix = comm.size() > 1 ? fmt::format("rank {}: ", last) : "";
  log.expect(verdict.to_string() == "IoError: " + prefix + "worse",
             "agree takes the worst: " + verdict.to_string());
  log.expect(agree(comm, verdict).to_string() == verdict.to_string(), "agree does not stack ranks");
  const Status lowest = agree(comm, Status::no_space(fmt::format("disk {}", comm.rank())));
  log.expect(
      lowest.to_string() == (comm.size() > 1 ? "NoSpace: rank 0: disk 0" : "NoSpace: disk 0"),
      "agree takes the lowest rank: " + lowest.to_string());
}

// Collective; the failures of this rank only.
inline Status check_comm_contract(Comm& comm, std::uint64_t seed) {
  ContractLog log;
  log.expect(comm.barrier(), "barrier");
  check_reductions(comm, seed, log);
  check_reductions_under_way(comm, seed, log);
  check_posts(comm, seed, log);
  check_copies(comm, seed, log);
  check_exchange_of_letters(comm, seed, log);
  check_parcels_of_letters(comm, seed, log);
  check_refusals(comm, log);
  check_agreement(comm, log);
  return log.status();
}

}  // namespace stratalog
