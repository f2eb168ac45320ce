// SPDX-License-Identifier: Apache-2.0
#include "policy/learning.h"

#include <fmt/format.h>

#include <algorithm>

#include "policy/thresholds.h"

namespace stratalog {
namespace {

// Of what is remembered: beyond, numbers are nonsense, or would overflow.
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 60;
constexpr std::uint64_t kMostSaves = std::uint64_t{1} << 30;
constexpr double kMostSeconds = 1e9;

double worth_trying_seconds() { return static_cast<double>(value_of(Limit::kWorthTrying)) / 1000; }

double worth_changing() { return static_cast<double>(value_of(Limit::kWorthChanging)) / 100; }

bool are_comparable(std::uint64_t one, std::uint64_t other) {
  const std::uint64_t times = value_of(Limit::kComparedSizes);
  return one < other * times && other < one * times;
}

bool is_sound(const LearnedCost& cost, const LearnedCosts& known) {
  if (!is_possible(cost.option)) return false;
  if (cost.bytes == 0 || cost.bytes > kMostBytes) return false;
  // False for what is not a number, too.
  const bool is_time = cost.seconds_per_byte >= 0 &&
                       cost.seconds_per_byte * static_cast<double>(cost.bytes) <= kMostSeconds;
  return is_time && cost.saves != 0 && cost.saves <= cost.last && cost.last <= known.saves;
}

}  // namespace

bool is_sound(const LearnedCosts& known) {
  if (known.costs.size() > kMostLearned || known.saves > kMostSaves ||
      known.since_try > known.saves || (known.settled && !is_possible(*known.settled)))
    return false;
  for (auto cost = known.costs.begin(); cost != known.costs.end(); ++cost) {
    if (!is_sound(*cost, known)) return false;
    if (std::any_of(known.costs.begin(), cost, [&](const LearnedCost& other) {
          return other.option == cost->option || other.last == cost->last;
        }))
      return false;
  }
  return true;
}

const LearnedCost* LayoutLearner::find(const LayoutOption& option, const AutoFacts& facts) const {
  for (const LearnedCost& cost : known_.costs)
    if (cost.option == option && are_comparable(cost.bytes, facts.bytes)) return &cost;
  return nullptr;
}

LayoutOption LayoutLearner::settled(const AutoFacts& facts) const {
  if (known_.settled && facts.bytes >= value_of(Limit::kLeastLearned) &&
      is_allowed(*known_.settled, facts) && find(*known_.settled, facts) != nullptr)
    return *known_.settled;
  return choose_by_table(facts).option;
}

bool LayoutLearner::is_to_be_tried(const LayoutOption& option, const AutoFacts& facts) const {
  const LearnedCost* const cost = find(option, facts);
  return cost == nullptr || known_.saves - cost->last > value_of(Limit::kForgottenSaves);
}

// The mode comes first, as it decides most; then one neighbour after the other, with saves as usual
// in between.
std::optional<LayoutOption> LayoutLearner::next_try(const LearnedCost& settled,
                                                    const AutoFacts& facts) const {
  const double seconds = settled.seconds_per_byte * static_cast<double>(facts.bytes);
  if (settled.saves < value_of(Limit::kSavesBeforeTrying) || seconds < worth_trying_seconds())
    return std::nullopt;
  const auto may_win = [&](const LayoutOption& option) {
    return least_seconds(option, facts) < seconds * worth_changing();
  };
  for (const LayoutOption& option : starting_options(facts))
    if (find(option, facts) == nullptr && !(option == settled.option) && may_win(option))
      return option;
  if (known_.since_try < value_of(Limit::kSavesBetweenTries)) return std::nullopt;
  for (const LayoutOption& option : neighbours(settled.option, facts))
    if (is_to_be_tried(option, facts) && may_win(option)) return option;
  return std::nullopt;
}

std::string LayoutLearner::measured_text(const AutoFacts& facts) const {
  std::string text;
  for (const LearnedCost& cost : known_.costs) {
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
  if (facts.bytes < value_of(Limit::kLeastLearned)) return choice;
  const LayoutOption option = settled(facts);
  const LearnedCost* const cost = find(option, facts);
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
  known_.settled = settled(facts);
  const LearnedCost* const now = find(*known_.settled, facts);
  if (now == nullptr) return;
  const LearnedCost* best = now;
  for (const LearnedCost& cost : known_.costs)
    if (are_comparable(cost.bytes, facts.bytes) && is_allowed(cost.option, facts) &&
        cost.seconds_per_byte < best->seconds_per_byte)
      best = &cost;
  if (best->seconds_per_byte < now->seconds_per_byte * worth_changing())
    known_.settled = best->option;
}

void LayoutLearner::learn(const LayoutOption& option, const AutoFacts& facts, double seconds) {
  if (facts.bytes == 0) return;
  const double now = seconds / static_cast<double>(facts.bytes);
  known_.since_try = option == settled(facts) ? known_.since_try + 1 : 0;
  ++known_.saves;
  auto cost = std::find_if(known_.costs.begin(), known_.costs.end(),
                           [&](const LearnedCost& c) { return c.option == option; });
  if (cost == known_.costs.end()) cost = known_.costs.insert(cost, {.option = option});
  const bool same_size = cost->saves != 0 && are_comparable(cost->bytes, facts.bytes);
  cost->seconds_per_byte = same_size ? (cost->seconds_per_byte + now) / 2 : now;
  cost->saves = same_size ? cost->saves + 1 : 1;
  cost->bytes = facts.bytes;
  cost->last = known_.saves;
  forget_oldest();
  settle(facts);
}

// One at a time: there is never more than one too many.
void LayoutLearner::forget_oldest() {
  if (known_.costs.size() <= kMostLearned) return;
  known_.costs.erase(std::min_element(
      known_.costs.begin(), known_.costs.end(),
      [](const LearnedCost& one, const LearnedCost& other) { return one.last < other.last; }));
}

}  // namespace stratalog
