// SPDX-License-Identifier: Apache-2.0
// The STORE file (what this directory is, and its id) and the claim of an epoch: the two things
// that a job does before it may add generations. Epochs fence: all generations of a later job sort
// above those of an earlier one, with or without locks. Local; rank 0 calls these.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "commit/protocol_steps.h"
#include "commit/vocabulary.h"
#include "encode/checksum.h"
#include "write/store.h"

namespace stratalog {

// The store's id. NotFound if there is no STORE file; Corruption if it is damaged; NotSupported if
// it is newer.
Result<Hash128> read_store_id(Store& store);

struct StoreClaim {
  Hash128 id;
  std::uint32_t epoch = 0;
  std::unique_ptr<StoreLock> lock;  // null where the file system has no locks
  std::vector<std::string> notes;
};

// Takes the lock, creates epoch-EEEEEEEE with the next number, makes STORE if there is none, and
// makes both durable. AlreadyExists while another job holds the lock.
Result<StoreClaim> claim_store(Store& store, Durability durability, const ProtocolSteps& steps);

// What claim_store() would say of another job's lock; nothing is created. OK where there are no
// locks.
Status check_unlocked(Store& store);

// The highest epoch that anybody claimed; 0 if none.
Result<std::uint32_t> highest_epoch(Store& store);

// A small whole file, read with a limit; Corruption if it is larger.
Result<std::string> read_text_file(Store& store, const std::string& path, std::uint64_t limit);
// Creates `path` exclusively with `text`; fsyncs it if asked.
Status write_text_file(Store& store, const std::string& path, std::string_view text,
                       Durability durability);

}  // namespace stratalog
