// SPDX-License-Identifier: Apache-2.0
#include "cli/stop_signals.h"

#include <atomic>
#include <csignal>
#include <cstdint>
#include <ctime>

namespace stratalog::cli {

namespace {

std::atomic<int> stop_asked{0};
std::atomic<std::int64_t> stop_asked_at_ns{0};
std::atomic<bool> checkpoint_asked{false};
static_assert(std::atomic<int>::is_always_lock_free,
              "signal handlers may only touch lock-free atomics");
static_assert(std::atomic<std::int64_t>::is_always_lock_free);
static_assert(std::atomic<bool>::is_always_lock_free);

constexpr std::int64_t kSecondNs = 1'000'000'000;
constexpr std::int64_t kSameRequestNs = kSecondNs;

// May be called in a signal handler, as clocks of the standard library may not.
std::int64_t clock_ns() {
  timespec now = {};
  (void)clock_gettime(CLOCK_MONOTONIC, &now);
  return (static_cast<std::int64_t>(now.tv_sec) * kSecondNs) + now.tv_nsec;
}

void on_stop(int signal_number) {
  int nobody = 0;
  const std::int64_t now = clock_ns();
  if (stop_asked.compare_exchange_strong(nobody, signal_number)) {
    stop_asked_at_ns.store(now);
  } else if (const std::int64_t asked_at = stop_asked_at_ns.load();
             asked_at != 0 && now - asked_at >= kSameRequestNs) {
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
