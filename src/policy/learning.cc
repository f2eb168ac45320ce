// SPDX-License-Identifier: Apache-2.0
#include "policy/learning.h"

#include <fmt/format.h>

#include <algorithm>

namespace stratalog {
namespace {

constexpr std::uint64_t kMinBytes = 1 << 20;  // less is as quick whatever the layout
constexpr std::uint64_t kStale = 4;  // measurements at sizes so many times apart are not compared
constexpr std::uint32_t kSavesBeforeTrying = 2;
constexpr std::uint32_t kSavesBetweenTries = 2;  // of a mode that is good, beside each experiment
constexpr std::uint64_t kForgotten = 48;  // saves after which what had lost may be tried again
constexpr double kWorthTrying = 0.05;  // seconds of a save, below which nothing is won
constexpr double kWorthChanging = 0.9;  // of the costs so far

bool are_comparable(std::uint64_t one, std::uint64_t other) {
  return one < other * kStale && other < one * kStale;
}

}  // namespace

const LayoutLearner::Cost* LayoutLearner::find(const LayoutOption& option,
                                               const AutoFacts& facts) const {
  for (const Cost& cost : costs_)
    if (cost.option == option && are_comparable(cost.bytes, facts.bytes)) return &cost;
  return nullptr;
}

LayoutOption LayoutLearner::settled(const AutoFacts& facts) const {
  if (settled_ && facts.bytes >= kMinBytes && is_allowed(*settled_, facts) &&
      find(*settled_, facts) != nullptr)
    return *settled_;
  return choose_by_table(facts).option;
}

bool LayoutLearner::is_to_be_tried(const LayoutOption& option, const AutoFacts& facts) const {
  const Cost* const cost = find(option, facts);
  return cost == nullptr || saves_ - cost->last > kForgotten;
}

// The mode comes first, as it decides most; then one neighbour after the other, with saves as usual
// in between.
std::optional<LayoutOption> LayoutLearner::next_try(const Cost& settled,
                                                    const AutoFacts& facts) const {
  const double seconds = settled.seconds_per_byte * static_cast<double>(facts.bytes);
  if (settled.saves < kSavesBeforeTrying || seconds < kWorthTrying) return std::nullopt;
  const auto may_win = [&](const LayoutOption& option) {
    return least_seconds(option, facts) < seconds * kWorthChanging;
  };
  for (const LayoutOption& option : starting_options(facts))
    if (find(option, facts) == nullptr && !(option == settled.option) && may_win(option))
      return option;
  if (since_try_ < kSavesBetweenTries) return std::nullopt;
  for (const LayoutOption& option : neighbours(settled.option, facts))
    if (is_to_be_tried(option, facts) && may_win(option)) return option;
  return std::nullopt;
}

std::string LayoutLearner::measured_text(const AutoFacts& facts) const {
  std::string text;
  for (const Cost& cost : costs_) {
    if (!are_comparable(cost.bytes, facts.bytes)) continue;
    text += fmt::format("{}{}: {:.3f} s for about {} expected after {} save{}",
                        text.empty() ? "" : "; ", option_text(cost.option),
                        cost.seconds_per_byte * static_cast<double>(facts.bytes),
                        about_bytes(facts.bytes), cost.saves, cost.saves == 1 ? "" : "s");
  }
  return text;
}

AutoChoice LayoutLearner::choose(const AutoFacts& facts) const {
  AutoChoice choice = choose_by_table(facts);
  if (facts.bytes < kMinBytes) return choice;
  const LayoutOption option = settled(facts);
  const Cost* const cost = find(option, facts);
  if (cost == nullptr) return choice;
  choice.reasons.push_back({"auto: measured", measured_text(facts)});
  if (const auto next = next_try(*cost, facts)) {
    choice.reasons.push_back(
        {"auto: choice", fmt::format("{}, to measure it at this size", option_text(*next))});
    choice.option = *next;
    return choice;
  }
  const bool by_table = option == choice.option;
  choice.option = option;
  choice.reasons.push_back(
      {"auto: choice", fmt::format("{}, {}", option_text(option),
                                   by_table ? "as in the table; nothing measured is a tenth cheaper"
                                            : "no other that was measured is a tenth cheaper")});
  return choice;
}

// Goes over to the cheapest where it is a tenth cheaper than what is settled.
void LayoutLearner::settle(const AutoFacts& facts) {
  settled_ = settled(facts);
  const Cost* const now = find(*settled_, facts);
  if (now == nullptr) return;
  const Cost* best = now;
  for (const Cost& cost : costs_)
    if (are_comparable(cost.bytes, facts.bytes) && is_allowed(cost.option, facts) &&
        cost.seconds_per_byte < best->seconds_per_byte)
      best = &cost;
  if (best->seconds_per_byte < now->seconds_per_byte * kWorthChanging) settled_ = best->option;
}

void LayoutLearner::learn(const LayoutOption& option, const AutoFacts& facts, double seconds) {
  if (facts.bytes == 0) return;
  const double now = seconds / static_cast<double>(facts.bytes);
  since_try_ = option == settled(facts) ? since_try_ + 1 : 0;
  ++saves_;
  auto cost =
      std::find_if(costs_.begin(), costs_.end(), [&](const Cost& c) { return c.option == option; });
  if (cost == costs_.end()) cost = costs_.insert(cost, {.option = option});
  const bool same_size = cost->saves != 0 && are_comparable(cost->bytes, facts.bytes);
  cost->seconds_per_byte = same_size ? (cost->seconds_per_byte + now) / 2 : now;
  cost->saves = same_size ? cost->saves + 1 : 1;
  cost->bytes = facts.bytes;
  cost->last = saves_;
  settle(facts);
}

}  // namespace stratalog
