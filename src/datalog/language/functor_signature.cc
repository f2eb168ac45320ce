// SPDX-License-Identifier: Apache-2.0
#include "datalog/language/functor_signature.h"

namespace stratalog::datalog::language {

Signature signature_of(Functor functor) {
  constexpr KindMask kNumeric = kN | kU | kF;
  constexpr KindMask kInteger = kN | kU;
  switch (functor) {
    case Functor::kNegate:
      return {"-", kN | kF, {}};
    case Functor::kAdd:
      return {"+", kScalar, {}};  // on symbols: concatenation, as in Soufflé
    case Functor::kSubtract:
      return {"-", kNumeric, {}};
    case Functor::kMultiply:
      return {"*", kNumeric, {}};
    case Functor::kDivide:
      return {"/", kNumeric, {}};
    case Functor::kModulo:
      return {"%", kInteger, {}};
    case Functor::kPower:
      return {"^", kNumeric, {}};
    case Functor::kMin:
      return {"min", kScalar, {}};
    case Functor::kMax:
      return {"max", kScalar, {}};
    case Functor::kBitNot:
      return {"bnot", kInteger, {}};
    case Functor::kBitAnd:
      return {"band", kInteger, {}};
    case Functor::kBitOr:
      return {"bor", kInteger, {}};
    case Functor::kBitXor:
      return {"bxor", kInteger, {}};
    case Functor::kShiftLeft:
      return {"bshl", kInteger, {}};
    case Functor::kShiftRight:
      return {"bshr", kInteger, {}};
    case Functor::kShiftRightUnsigned:
      return {"bshru", kInteger, {}};
    case Functor::kLogicalNot:
      return {"lnot", kInteger, {}};
    case Functor::kLogicalAnd:
      return {"land", kInteger, {}};
    case Functor::kLogicalOr:
      return {"lor", kInteger, {}};
    case Functor::kLogicalXor:
      return {"lxor", kInteger, {}};
    case Functor::kCat:
      return {"cat", kS, {}};
    case Functor::kStrlen:
      return {"strlen", kS, kN};
    case Functor::kSubstr:
      return {"substr", kS, {}};  // its numbers are treated apart
    case Functor::kOrd:
      return {"ord", kAny, kN};
    case Functor::kToNumber:
      return {"to_number", kScalar, kN};
    case Functor::kToUnsigned:
      return {"to_unsigned", kScalar, kU};
    case Functor::kToFloat:
      return {"to_float", kScalar, kF};
    case Functor::kToString:
      return {"to_string", kScalar, kS};
    case Functor::kReinterpret:
      return {"as", kAny, kAny};
    case Functor::kIteration:
      return {"recursive_iteration_cnt", kAny, kN | kU};
    case Functor::kCounter:
      return {"autoinc", kAny, kN};
    case Functor::kPack:
      return {"[...]", kAny, kR};
    case Functor::kExternal:
      return {"@...", kAny, kAny};  // declared by the program
  }
  return {"?", kAny, {}};
}

}  // namespace stratalog::datalog::language
