// SPDX-License-Identifier: Apache-2.0
#include "datalog/evaluate/incoming.h"

namespace stratalog::datalog {

void queue_run(Index& index, const MailRun& run) {
  index.queue_tuples({run.cells.data(), run.count * run.arity});
}

void queue_group(Index& index, const MailGroup& mail) {
  index.queue_view(mail.group.prefix.data(), mail.group.set);
}

MailHandler guarded(EngineState& state, MailHandler handler) {
  return {
      .on_run = [&state, take = std::move(handler.on_run)](
                    const MailRun& run) { return state.guard([&] { return take(run); }); },
      .on_group = [&state, take = std::move(handler.on_group)](
                      const MailGroup& mail) { return state.guard([&] { return take(mail); }); }};
}

}  // namespace stratalog::datalog
