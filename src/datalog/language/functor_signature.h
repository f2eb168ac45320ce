// SPDX-License-Identifier: Apache-2.0
// Which kinds the operands of functors may have and what they give; kinds as sets, for inference.
// Pure. Local.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "datalog/program.h"

namespace stratalog::datalog::language {

using KindMask = std::uint8_t;

constexpr KindMask mask_of(ValueKind kind) {
  return static_cast<KindMask>(1U << static_cast<unsigned>(kind));
}

inline constexpr KindMask kN = mask_of(ValueKind::kNumber);
inline constexpr KindMask kU = mask_of(ValueKind::kUnsigned);
inline constexpr KindMask kF = mask_of(ValueKind::kFloat);
inline constexpr KindMask kS = mask_of(ValueKind::kSymbol);
// Records and values of algebraic data types, enumerations among them.
inline constexpr KindMask kR = mask_of(ValueKind::kRecord);
inline constexpr KindMask kScalar = kN | kU | kF | kS;
inline constexpr KindMask kAny = kScalar | kR;

struct Signature {
  std::string_view name;
  KindMask operands;  // allowed for each operand
  std::optional<KindMask> result;  // nothing: the same kind as the operands, which agree
};

// Not of kPack, whose operands depend on the type of the record.
Signature signature_of(Functor functor);

}  // namespace stratalog::datalog::language
