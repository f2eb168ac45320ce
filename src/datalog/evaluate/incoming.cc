// SPDX-License-Identifier: Apache-2.0
#include "datalog/evaluate/incoming.h"

namespace stratalog::datalog {

void queue_run(Index& index, const MailRun& run) {
  index.queue_tuples({run.cells.data(), run.count * run.arity});
}

void queue_group(Index& index, const MailGroup& mail) {
  index.queue_view(index.find_or_add_row(mail.group.prefix.data()), mail.group.set);
}

}  // namespace stratalog::datalog
