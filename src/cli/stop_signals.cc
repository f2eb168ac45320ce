// SPDX-License-Identifier: Apache-2.0
#include "cli/stop_signals.h"

#include <atomic>
#include <csignal>

namespace stratalog::cli {

namespace {

std::atomic<int> stop_asked{0};
std::atomic<bool> checkpoint_asked{false};
static_assert(std::atomic<int>::is_always_lock_free,
              "signal handlers may only touch lock-free atomics");
static_assert(std::atomic<bool>::is_always_lock_free);

void on_stop(int signal_number) {
  if (stop_asked.exchange(signal_number) != 0) {
    std::signal(signal_number, SIG_DFL);
    std::raise(signal_number);
  }
}

void on_checkpoint(int) { checkpoint_asked.store(true); }

void install(int signal_number, void (*handler)(int)) {
  struct sigaction action = {};
  action.sa_handler = handler;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  sigaction(signal_number, &action, nullptr);
}

}  // namespace

void install_stop_signals() {
  install(SIGTERM, on_stop);
  install(SIGINT, on_stop);
  install(SIGUSR1, on_checkpoint);
}

datalog::StopRequest take_stop_request() {
  if (stop_asked.load() != 0) return datalog::StopRequest::kCheckpointAndStop;
  return checkpoint_asked.exchange(false) ? datalog::StopRequest::kCheckpoint
                                          : datalog::StopRequest::kNone;
}

int stop_signal() { return stop_asked.load(); }

}  // namespace stratalog::cli
