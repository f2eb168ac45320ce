// SPDX-License-Identifier: Apache-2.0
// RunProfile as the JSON text that `--profile FILE` writes and `stratalog profile` reads. The
// fields are described in docs/formats/profile.md. Pure; local; opens no files.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "profile/run_profile.h"

namespace stratalog {

std::string profile_to_json(const RunProfile& profile);

// InvalidArgument if the text is no profile, naming the field that is missing or wrong;
// NotSupported if it has a newer version.
Result<RunProfile> profile_from_json(std::string_view text);

}  // namespace stratalog
