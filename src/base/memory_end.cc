// SPDX-License-Identifier: Apache-2.0
#include "base/memory_end.h"

namespace stratalog {

void report_no_memory() { throw std::bad_alloc(); }

void report_full_table() {
  throw NoRoom(
      "a rank has 2^32 rows of one relation (2^31 where rules search it by a part of its columns), "
      "more than can be numbered; use more ranks");
}

void report_no_address_space() {
  throw NoRoom(
      "a rank reserves 520 MiB of address space, most of which it never uses, and gets none: raise "
      "the limit (ulimit -v) or have fewer ranks in this process");
}

}  // namespace stratalog
