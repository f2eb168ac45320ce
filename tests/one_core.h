// SPDX-License-Identifier: Apache-2.0
// sim_run on one core, for tests of many short runs: they spend most of their time waking ranks on
// other cores. On the core of the caller the same runs take a third to two thirds of the processor
// time, and other tests have the rest.
#pragma once

#include <sched.h>

#include <cstddef>
#include <functional>

#include "comm/comm.h"
#include "comm/sim_nodes.h"

namespace stratalog {

// While it lives, the calling thread and the threads that it starts run where it runs now.
class OneCore {
 public:
  OneCore() {
    CPU_ZERO(&before_);
    const int core = ::sched_getcpu();
    if (core < 0 || core >= CPU_SETSIZE) return;
    if (::sched_getaffinity(0, sizeof(before_), &before_) != 0) return;
    cpu_set_t here;
    CPU_ZERO(&here);
    CPU_SET(static_cast<std::size_t>(core), &here);
    is_bound_ = ::sched_setaffinity(0, sizeof(here), &here) == 0;
  }
  ~OneCore() {
    if (is_bound_) (void)::sched_setaffinity(0, sizeof(before_), &before_);
  }
  OneCore(const OneCore&) = delete;
  OneCore& operator=(const OneCore&) = delete;

 private:
  cpu_set_t before_;
  bool is_bound_ = false;
};

inline Status sim_run_on_one_core(int ranks, const std::function<Status(Comm&)>& body) {
  const OneCore core;
  return sim_run(ranks, body);
}

inline Status sim_nodes_on_one_core(int ranks, int ranks_per_node,
                                    const std::function<Status(Comm&)>& body) {
  const OneCore core;
  return sim_run_on_nodes(ranks, ranks_per_node, body);
}

}  // namespace stratalog
