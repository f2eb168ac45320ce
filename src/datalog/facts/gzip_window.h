// SPDX-License-Identifier: Apache-2.0
// How zlib is told that a stream is gzip, for reading as for writing.
#pragma once

namespace stratalog::datalog {

inline constexpr int kGzipWindow = 15 + 16;  // 32 KiB window, gzip wrapper

}  // namespace stratalog::datalog
