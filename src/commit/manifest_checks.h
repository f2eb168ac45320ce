// SPDX-License-Identifier: Apache-2.0
// Whether the lines of a manifest fit together: every shard and section lies inside a listed file,
// nothing overlaps, rows add up, a rank has one shard of a relation in each generation. Looks at
// nothing but the manifest. Pure; local.
#pragma once

#include "base/status.h"
#include "commit/manifest.h"

namespace stratalog {

// Requires that relations and links that shards and files name exist. Corruption says what does not
// fit.
Status check_parts(const Manifest& manifest);

}  // namespace stratalog
