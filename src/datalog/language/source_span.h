// SPDX-License-Identifier: Apache-2.0
// Span: a piece of the expanded program text (after the preprocessor), as byte offsets. The
// language stages carry spans; only SourceMap turns them into files, lines and columns. Plain
// value. Local.
#pragma once

#include <cstdint>

namespace stratalog::datalog::language {

struct Span {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;  // one past the last byte
};

// The smallest span that covers both.
inline Span cover(Span a, Span b) {
  return {a.begin < b.begin ? a.begin : b.begin, a.end > b.end ? a.end : b.end};
}

}  // namespace stratalog::datalog::language
