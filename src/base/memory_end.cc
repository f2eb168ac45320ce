// SPDX-License-Identifier: Apache-2.0
#include "base/memory_end.h"

namespace stratalog {

const char* TableFull::what() const noexcept {
  return "a rank has 2^32 rows of one relation, more than can be numbered; use more ranks";
}

void report_no_memory() { throw std::bad_alloc(); }

void report_full_table() { throw TableFull(); }

}  // namespace stratalog
