// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/part_plan.h"

#include <fmt/format.h>

#include "base/readable_size.h"

namespace stratalog {
namespace {

using Wide = unsigned __int128;

std::uint64_t narrow(Wide value) {
  return value > ~std::uint64_t{0} ? ~std::uint64_t{0} : static_cast<std::uint64_t>(value);
}

// `rows` at the bytes per row of the chain so far, rounded up.
std::uint64_t estimate_bytes(const ChainFacts& chain, std::uint64_t rows) {
  if (chain.rows == 0) return 0;
  const Wide bytes = Wide{chain.whole_bytes} + chain.growth_bytes;
  return narrow((bytes * rows + chain.rows - 1) / chain.rows);
}

PartPlan whole(const ChainFacts& chain, const PartOffer& offer, std::string reason) {
  return {.part = ImagePart::kWhole,
          .choice = {.part = "whole",
                     .reason = std::move(reason),
                     .parts = 1,
                     .whole_bytes = estimate_bytes(chain, offer.rows),
                     .growth_bytes = 0}};
}

bool is_folded_in_time(const ChainRules& rules, const ChainFacts& chain, const PartOffer& offer) {
  const Wide bytes = Wide{chain.whole_bytes} + chain.growth_bytes;
  const bool in_streams = offer.stored_as == StoredAs::kStreams;
  const Wide work = in_streams ? Wide{offer.rows} : bytes;
  const std::uint64_t a_second =
      in_streams ? rules.folded_stream_rows_per_second : rules.folded_bytes_per_second;
  return work * 1'000'000 / offer.ranks / a_second <= offer.interval_microseconds;
}

// The chain ends, and its growth is known.
PartPlan end_of_chain(const ChainRules& rules, const ChainFacts& chain, const PartOffer& offer,
                      std::string reason) {
  PartPlan plan = whole(chain, offer, std::move(reason));
  if (offer.folding == Folding::kNo || chain.parts == 0) return plan;
  if (!is_folded_in_time(rules, chain, offer)) {
    plan.choice.reason += ": checkpoints are too close to read it back";
    return plan;
  }
  plan.part = ImagePart::kFolded;
  plan.choice.part = "folded";
  plan.choice.reason += ": read back and written as one beside the evaluation";
  return plan;
}

PartPlan growth(const ChainFacts& chain, std::uint64_t bytes, std::string reason) {
  return {.part = ImagePart::kGrowth,
          .choice = {.part = "growth",
                     .reason = std::move(reason),
                     .parts = chain.parts + (bytes == 0 ? 0U : 1U),
                     .whole_bytes = chain.whole_bytes,
                     .growth_bytes = narrow(Wide{chain.growth_bytes} + bytes)}};
}

}  // namespace

PartPlan plan_part(const ChainRules& rules, const ChainFacts& chain, const PartOffer& offer) {
  if (offer.growth == GrowthKnowledge::kNoBase) return whole(chain, offer, "nothing to build on");
  if (rules.whole_every == 1) return whole(chain, offer, "every generation is to be whole");
  if (offer.growth == GrowthKnowledge::kNotFollowed)
    return whole(chain, offer, "its growth was not followed");
  if (rules.whole_every != 0 && chain.generations >= rules.whole_every)
    return end_of_chain(rules, chain, offer,
                        fmt::format("every {}. generation is whole", rules.whole_every));
  if (offer.growth_rows == 0 && offer.whole_beside == WholeBeside::kYes &&
      chain.parts >= rules.most_finished_parts)
    return whole(chain, offer, fmt::format("finished, in {} parts", chain.parts));
  if (offer.growth_rows == 0) return growth(chain, 0, "unchanged");
  if (chain.parts == 0) return whole(chain, offer, "it was empty before");
  if (chain.parts >= rules.most_parts)
    return end_of_chain(rules, chain, offer, fmt::format("in {} parts", chain.parts));
  const std::uint64_t added = estimate_bytes(chain, offer.growth_rows);
  const Wide together = Wide{chain.growth_bytes} + added;
  if (together * 100 > Wide{chain.whole_bytes} * rules.most_growth_percent)
    return end_of_chain(
        rules, chain, offer,
        fmt::format("about {} of growth on {} that were whole are more than {} percent",
                    readable_size(narrow(together)), readable_size(chain.whole_bytes),
                    rules.most_growth_percent));
  return growth(chain, added,
                fmt::format("{} new row{}, about {}, where all are about {}", offer.growth_rows,
                            offer.growth_rows == 1 ? "" : "s", readable_size(added),
                            readable_size(estimate_bytes(chain, offer.rows))));
}

}  // namespace stratalog
