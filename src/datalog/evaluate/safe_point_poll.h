// SPDX-License-Identifier: Apache-2.0
// SafePointPoll: ranks that work on blocks of their own ask each other between two blocks whether
// to come to a safe point, and work on until the answer is there. So they meet only where there is
// something to do, all at their next block, and whoever has done its share first does not wait for
// the others. One poll lasts from one safe point to the next. Each rank sees the same answers in
// the same order.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "comm/comm.h"
#include "datalog/evaluate/engine_state.h"
#include "datalog/evaluate/stratum_run.h"

namespace stratalog::datalog {

class SafePointPoll {
 public:
  // What a rank has to say.
  struct Word {
    SafePointWish wish;
    bool is_reached = false;  // it did what lies before the next checkpoint by rounds
    bool has_blocks = true;  // to work on
  };
  using Words = std::function<Word()>;

  // Where ranks cannot ask without waiting for each other, they do every `seconds_between`.
  SafePointPoll(Comm& comm, double seconds_between);

  // Between two blocks. Whether all ranks meet now, or cannot go on.
  bool ask(const Words& words);
  // Collective with other ranks' ask() and wait(). Of a rank that works no more for now, or that
  // was told to meet: returns when all meet.
  Status wait(const Words& words);

  // Of the sums over all ranks. Pure.
  struct Sums {
    std::uint64_t needed = 0;
    std::uint64_t reached = 0;
    std::uint64_t with_blocks = 0;
    std::uint64_t saving = 0;
    std::uint64_t writing = 0;
  };
  static bool must_meet(const Sums& sums, std::uint64_t ranks);

 private:
  Status begin(const Word& word);
  void read_answer();

  Comm& comm_;
  double seconds_between_;
  Stopwatch since_asked_;
  std::unique_ptr<ReductionUnderWay> question_;  // of which the answer is not there yet
  bool said_reached_ = false;
  bool is_over_ = false;  // all meet
  Status status_;
};

}  // namespace stratalog::datalog
