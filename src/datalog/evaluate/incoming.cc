// SPDX-License-Identifier: Apache-2.0
#include "datalog/evaluate/incoming.h"

namespace stratalog::datalog {

void queue_run(Index& index, const MailRun& run) {
  constexpr std::uint64_t kAhead = 16;
  for (std::uint64_t t = 0; t < run.count; ++t) {
    const Cell* tuple = run.cells.data() + (t * run.arity);
    if (t + kAhead < run.count) index.prefetch_row(tuple + (kAhead * run.arity));
    index.queue_tuple(tuple);
  }
}

void queue_group(Index& index, const MailGroup& mail) {
  index.queue_view(index.find_or_add_row(mail.group.prefix.data()), mail.group.set);
}

}  // namespace stratalog::datalog
