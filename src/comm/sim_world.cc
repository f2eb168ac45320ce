// SPDX-License-Identifier: Apache-2.0
#include "comm/sim_world.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "base/allowed_cores.h"

namespace stratalog {
namespace {

// Before a rank sleeps; 200 to 400 microseconds. To be woken from sleep takes 50 and more, and
// small programs meet a hundred times in a few milliseconds.
constexpr int kLooks = 8000;

bool has_core_for_each(int ranks) { return static_cast<unsigned>(ranks) <= allowed_core_count(); }

std::uint64_t fold(std::uint64_t a, std::uint64_t b, ReduceOp op) {
  switch (op) {
    case ReduceOp::kSum:
      return a + b;
    case ReduceOp::kMin:
      return std::min(a, b);
    case ReduceOp::kMax:
      return std::max(a, b);
    case ReduceOp::kBitOr:
      return a | b;
  }
  return a;
}

}  // namespace

SimWorld::SimWorld(int ranks, AddressSpace space)
    : calls_(static_cast<std::size_t>(ranks)),
      posts_(ranks),
      bell_(has_core_for_each(ranks) ? kLooks : 0),
      spread_(ranks, space == AddressSpace::kShared ? CoreSpread::Use::kSpread
                                                    : CoreSpread::Use::kLeave) {}

Status SimWorld::check_calls() const {
  const SimCall& first = *calls_[0];
  for (int r = 1; r < size(); ++r) {
    const SimCall& other = *calls_[static_cast<std::size_t>(r)];
    if (std::strcmp(first.name, other.name) != 0)
      return Status::ranks_disagree(
          fmt::format("rank 0 calls {} while rank {} calls {}; all ranks must make the same "
                      "collective calls in "
                      "the same order",
                      first.name, r, other.name));
    if (first.agreed_on != other.agreed_on)
      return Status::ranks_disagree(fmt::format(
          "rank 0 and rank {} call {} with different roots, lengths or operations ({} and {})", r,
          first.name, first.agreed_on, other.agreed_on));
  }
  return Status::ok();
}

Status SimWorld::broken_status(int rank, const SimCall& call) const {
  {
    const std::lock_guard guard(leaving_);
    if (!why_.is_ok()) return why_;
  }
  return Status::ranks_disagree(fmt::format("rank {} waits in {}, but rank {} has already returned",
                                            rank, call.name, left_.load()));
}

void SimWorld::reduce(std::span<const SimCall* const> calls, ReduceOp op) {
  reduced_.assign(calls[0]->words.begin(), calls[0]->words.end());
  for (const SimCall* other : calls.subspan(1))
    for (std::size_t i = 0; i < reduced_.size(); ++i)
      reduced_[i] = fold(reduced_[i], other->words[i], op);
}

void SimWorld::sort_parcels(std::span<const SimCall* const> calls) {
  first_parcel_.assign(calls.size() + 1, 0);
  for (const SimCall* sender : calls)
    for (const Parcel& parcel : sender->parcels)
      ++first_parcel_[static_cast<std::size_t>(parcel.rank) + 1];
  std::partial_sum(first_parcel_.begin(), first_parcel_.end(), first_parcel_.begin());
  parcels_.resize(first_parcel_.back());
  std::vector<std::size_t> next = first_parcel_;
  for (std::size_t s = 0; s < calls.size(); ++s) {
    std::uint64_t from = 0;
    for (const Parcel& parcel : calls[s]->parcels) {
      parcels_[next[static_cast<std::size_t>(parcel.rank)]++] = {
          .sender = static_cast<int>(s), .bytes = calls[s]->data.subspan(from, parcel.bytes)};
      from += parcel.bytes;
    }
  }
}

std::shared_ptr<const SlowReduction> SimWorld::begin_slowly(std::span<const std::uint64_t> values,
                                                            ReduceOp op) {
  std::shared_ptr<SlowReduction> mine;
  bool is_last = false;
  {
    const std::lock_guard guard(slow_mutex_);
    if (!slow_) {
      slow_ = std::make_shared<SlowReduction>();
      slow_->values.assign(values.begin(), values.end());
      slow_->op = op;
    } else if (slow_->op != op || slow_->values.size() != values.size()) {
      slow_->is_alike = false;
    } else {
      for (std::size_t i = 0; i < values.size(); ++i)
        slow_->values[i] = fold(slow_->values[i], values[i], op);
    }
    mine = slow_;
    is_last = ++slow_->begun_by == size();
    if (is_last) slow_.reset();
  }
  if (is_last) {
    mine->is_done.store(true);
    bell_.ring();
  }
  return mine;
}

Status SimWorld::check(const SlowReduction& reduction) const {
  if (reduction.is_alike) return Status::ok();
  return Status::ranks_disagree(
      "ranks begin a reduction with different lengths or operations; all ranks must make the same "
      "collective calls in the same order");
}

Status SimWorld::wait_for(int rank, const SlowReduction& reduction) {
  wait(rank, [&] { return reduction.is_done.load() || is_broken(); });
  if (reduction.is_done.load()) return check(reduction);
  return broken_status(rank, {.name = "a reduction"});
}

Result<Bytes> SimWorld::await_post(int rank, int sender) {
  std::optional<Bytes> data;
  wait(rank, [&] {
    data = posts_.take_from(rank, sender);
    return data.has_value() || is_broken();
  });
  // It may have come before somebody left.
  if (!data) data = posts_.take_from(rank, sender);
  if (!data) return broken_status(rank, {.name = "await_post"});
  return std::move(*data);
}

void SimWorld::give_up(const Status& why) {
  {
    const std::lock_guard guard(leaving_);
    if (why_.is_ok()) why_ = why;
  }
  is_given_up_.store(true);
  bell_.ring();
}

void SimWorld::part(int rank, const Status& done) {
  const std::uint64_t mine = partings_.load();
  {
    const std::lock_guard guard(leaving_);
    if (why_.is_ok()) why_ = done;
    if (++parted_ == size()) {
      if (!is_given_up_.load()) why_ = Status::ok();
      parted_.store(0);
      partings_.store(mine + 1);
    }
  }
  bell_.ring();  // those who wait here have all met, or those who wait in other calls wait in vain
  wait(rank, [&] { return partings_.load() != mine || left_.load() >= 0; });
}

void SimWorld::leave(int rank) {
  int nobody = -1;
  left_.compare_exchange_strong(nobody, rank);
  bell_.ring();
}

}  // namespace stratalog
