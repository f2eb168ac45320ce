// SPDX-License-Identifier: Apache-2.0
// Meetings: what a thread that packs beside the caller needs the callers of all ranks for, now and
// then. All members are the caller's.
#pragma once

namespace stratalog {

class Meetings {
 public:
  Meetings() = default;
  Meetings(const Meetings&) = delete;
  Meetings& operator=(const Meetings&) = delete;
  virtual ~Meetings() = default;

  // Local. Whether the thread waits for meet(), or needs no further one.
  virtual bool is_ready() const = 0;
  // Local: returns when is_ready().
  virtual void wait_until_ready() = 0;
  // Collective, where all ranks are ready.
  virtual void meet() = 0;
  // Local. Whether no rank needs to meet any more; the same on all.
  virtual bool is_over() const = 0;
};

}  // namespace stratalog
