// SPDX-License-Identifier: Apache-2.0
// A LearnedRecord as an object within a manifest's line. For the two halves of commit/manifest.h
// only, which have that line as JSON anyway. Pure; local.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>

#include "commit/json_items.h"
#include "commit/learned_record.h"

namespace stratalog {

nlohmann::ordered_json learned_json(const LearnedRecord& record);
// Looks at what it knows and copies nothing else, however deep and large it is.
std::optional<LearnedRecord> learned_of(JsonItem object);

}  // namespace stratalog
