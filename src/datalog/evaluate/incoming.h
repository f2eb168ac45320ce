// SPDX-License-Identifier: Apache-2.0
// Tuples that came by mail enter an index: they are queued there, in the column order of the
// index, and united at the end of the round. Local to a rank.
#pragma once

#include "datalog/evaluate/engine_state.h"
#include "relation/index.h"
#include "route/mail_format.h"

namespace stratalog::datalog {

// Rows that the tuples will need are prefetched a few tuples ahead.
void queue_run(Index& index, const MailRun& run);

// The set stays with the mail until the index is united.
void queue_group(Index& index, const MailGroup& mail);

// Queues everything; `index_of` gives the index of a stream as an Index&.
template <typename IndexOf>
MailHandler queue_into(IndexOf index_of) {
  return {.on_run = [index_of](const MailRun& run) -> Status {
            queue_run(index_of(run.stream), run);
            return {};
          },
          .on_group = [index_of](const MailGroup& mail) -> Status {
            queue_group(index_of(mail.stream), mail);
            return {};
          }};
}

// Takes in what arrives while this rank goes on with its own work: where that finds no memory, the
// rank works on nothing any more (EngineState::guard). `state` outlives the handler.
MailHandler guarded(EngineState& state, MailHandler handler);

}  // namespace stratalog::datalog
