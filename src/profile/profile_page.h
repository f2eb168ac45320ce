// SPDX-License-Identifier: Apache-2.0
// The profile as one HTML page that needs nothing else: charts as inline SVG, tables that sort by a
// few lines of script on the page, a policy that forbids it to load anything. Everything that came
// from the program or the file is escaped. Pure; local.
#pragma once

#include <string>

#include "profile/run_profile.h"

namespace stratalog {

std::string profile_page(const RunProfile& profile);

}  // namespace stratalog
