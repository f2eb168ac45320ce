// SPDX-License-Identifier: Apache-2.0
#include "place/prefetch_order.h"

namespace stratalog {

PrefetchOrder::Part PrefetchOrder::before(std::size_t reading) {
  Part part{.begin = next_, .end = next_};
  if (reading > 0 && reading < next_) ahead_ -= asked(reading);  // it was ahead
  while (next_ < bytes_.size() && (next_ == reading + 1 || ahead_ + asked(next_) <= kWindow))
    ahead_ += asked(next_++);
  part.end = next_;
  return part;
}

}  // namespace stratalog
