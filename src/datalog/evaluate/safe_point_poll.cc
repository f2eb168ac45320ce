// SPDX-License-Identifier: Apache-2.0
#include "datalog/evaluate/safe_point_poll.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace stratalog::datalog {
namespace {

// A question costs microseconds where nobody waits, and what it asks for can be this late.
constexpr double kSecondsBetweenQuestions = 0.02;

}  // namespace

SafePointPoll::SafePointPoll(Comm& comm, double seconds_between)
    : comm_(comm),
      seconds_between_(comm.reduces_beside() ? std::min(seconds_between, kSecondsBetweenQuestions)
                                             : seconds_between) {}

bool SafePointPoll::must_meet(const Sums& sums, std::uint64_t ranks) {
  const bool is_written = sums.saving > 0 && sums.writing == 0;
  return sums.needed > 0 || sums.reached == ranks || sums.with_blocks == 0 || is_written;
}

Status SafePointPoll::begin(const Word& word) {
  since_asked_.lap();
  said_reached_ = word.is_reached;
  const auto count = [](bool says) { return says ? std::uint64_t{1} : std::uint64_t{0}; };
  STRATALOG_ASSIGN_OR_RETURN(
      question_, comm_.begin_allreduce(
                     {count(word.wish.is_needed), count(word.is_reached), count(word.has_blocks),
                      count(word.wish.is_saving), count(word.wish.is_writing)},
                     ReduceOp::kSum));
  return {};
}

// The question has been answered.
void SafePointPoll::read_answer() {
  const std::span<const std::uint64_t> sums = question_->values();
  is_over_ = must_meet({.needed = sums[0],
                        .reached = sums[1],
                        .with_blocks = sums[2],
                        .saving = sums[3],
                        .writing = sums[4]},
                       static_cast<std::uint64_t>(comm_.size()));
  question_.reset();
}

bool SafePointPoll::ask(const Words& words) {
  if (is_over_ || !status_.is_ok()) return true;
  if (!question_) {
    const Word word = words();
    const bool is_news = word.is_reached && !said_reached_;
    if (!is_news && since_asked_.seconds() < seconds_between_) return false;
    status_ = begin(word);
    if (!status_.is_ok()) return true;
  }
  const Result<bool> done = question_->is_done();
  status_ = done.status();
  if (!status_.is_ok()) return true;
  if (done.value()) read_answer();
  return is_over_;
}

Status SafePointPoll::wait(const Words& words) {
  while (status_.is_ok() && !is_over_) {
    if (!question_) status_ = begin(words());
    if (status_.is_ok()) status_ = question_->wait();
    if (status_.is_ok()) read_answer();
  }
  return status_;
}

}  // namespace stratalog::datalog
