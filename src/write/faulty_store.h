// SPDX-License-Identifier: Apache-2.0
// FaultyStore: passes calls on to another Store and makes the n-th one fail with a given errno,
// once or from then on. Reads, writes, opens, syncs, closes, renames, removals, listings and
// examinations all count. For tests. Local.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "write/store.h"

namespace stratalog {

enum class FaultSpan : std::uint8_t { kOnce, kPersistent };

struct FaultPlan {
  std::uint64_t fail_at = ~std::uint64_t{0};  // the call that fails, counted from 0
  int error_number = 0;  // errno value
  FaultSpan span = FaultSpan::kOnce;
  bool short_write = false;  // a failing write first writes half of its bytes
  // If set, runs before call number fail_at, which then does not fail: something happens in
  // between.
  std::function<void()> meanwhile = {};
};

// Counts calls and says which fail. Shared by a FaultyStore and its files.
class FaultCounter {
 public:
  explicit FaultCounter(const FaultPlan& plan) : plan_(plan) {}
  // Counts one call; an error if it must fail.
  Status next(const std::string& action, const std::string& path);
  std::uint64_t calls() const { return calls_; }
  bool has_fired() const { return calls_ > plan_.fail_at; }
  const FaultPlan& plan() const { return plan_; }

 private:
  FaultPlan plan_;
  std::uint64_t calls_ = 0;
};

// `inner` outlives the result.
std::unique_ptr<Store> open_faulty_store(Store& inner, std::shared_ptr<FaultCounter> counter);

}  // namespace stratalog
