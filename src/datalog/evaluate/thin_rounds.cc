// SPDX-License-Identifier: Apache-2.0
#include "datalog/evaluate/thin_rounds.h"

namespace stratalog::datalog {

void ThinRounds::open(std::uint64_t until_due) {
  left_ = until_due == 0 ? most_ : std::min(most_, until_due);
  begun_ = 0;
  before_ = state_.times;
  watch_.lap();
  is_open_ = true;
}

bool ThinRounds::go_on() {
  if (!is_open_ || left_ == 0) return false;
  if (begun_ == 1) {
    first_seconds_ = watch_.seconds();
    state_.times_phases = false;
  }
  ++begun_;
  --left_;
  return true;
}

void ThinRounds::close() {
  if (!is_open_) return;
  is_open_ = false;
  state_.times_phases = true;
  seconds_ = watch_.seconds();
  if (begun_ < 2 || first_seconds_ <= 0) return;
  const double like_first = seconds_ / first_seconds_;
  for (double TimeBreakdown::* phase : {&TimeBreakdown::join, &TimeBreakdown::exchange,
                                        &TimeBreakdown::deduplicate, &TimeBreakdown::pack})
    state_.times.*phase = before_.*phase + ((state_.times.*phase - before_.*phase) * like_first);
}

}  // namespace stratalog::datalog
