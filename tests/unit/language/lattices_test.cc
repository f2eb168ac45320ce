// SPDX-License-Identifier: Apache-2.0
// Lattices: the rules that they stand for, what values mean in bodies, and what is refused.
#include <gtest/gtest.h>

#include "unit/language/outcome_of.h"

namespace stratalog::datalog {
namespace {

// The rules of a program over r(x, v: T<>), s and t of the same kind and e(x, y), one a line.
std::string rules(const std::string& text, const std::string& lattice) {
  const std::string seen =
      outcome_of(".type T <: number\n.functor up(T, T): T\n.functor down(T, T): T\n" + lattice +
                 "\n.decl e(x: number, y: number)\n.input e\n.decl r(x: number, v: T<>)\n"
                 ".input r\n.decl s(x: number, v: T<>)\n.input s\n.decl t(x: number)\n" +
                 text);
  return seen;
}

constexpr const char* kFull = ".lattice T<> { Bottom -> 0, Lub -> max(_, _), Glb -> @down(_, _) }";
constexpr const char* kLeast = ".lattice T<> { Bottom -> 9, Lub -> min(_, _), Glb -> max(_, _) }";

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(Lattices, LeastValuesSubsumeOthers) {
  const std::string seen = rules("t(x) :- r(x, _).\n", kLeast);
  EXPECT_TRUE(has(seen, "r(x0, a) <= r(x0, b) :- b < a.")) << seen;
  EXPECT_FALSE(has(seen, "a != b")) << seen;
}

TEST(Lattices, OtherValuesAreUnited) {
  const std::string seen = rules("t(x) :- r(x, _).\n", ".lattice T<> { Lub -> @up(_, _) }");
  EXPECT_TRUE(has(seen, "r(x0, a) <= r(x0, b) :- b = @up(a, b).")) << seen;
  const std::string bits = rules("t(x) :- r(x, _).\n", ".lattice T<> { Lub -> _ bor _ }");
  EXPECT_TRUE(has(bits, "r(x0, a) <= r(x0, b) :- b = a bor b.")) << bits;
}

TEST(Lattices, KnownValuesAskForAtLeastThat) {
  const std::string seen = rules("t(x) :- r(x, 4).\nt(x) :- r(x, y), e(x, y).\n", kFull);
  EXPECT_TRUE(has(seen, "t(x) :- r(x, value#1), @down(value#1, 4) = 4.")) << seen;
  EXPECT_TRUE(has(seen, "@down(value#1, y) = y")) << seen;
}

TEST(Lattices, ValuesThatMeet) {
  const std::string seen = rules("r(x, v) :- r(x, v), s(x, v).\n", kFull);
  EXPECT_TRUE(has(seen, "r(x, value#1), s(x, value#2)")) << seen;
  EXPECT_TRUE(has(seen, "v = @down(value#2, value#1)")) << seen;
  EXPECT_TRUE(has(seen, "v != 0")) << seen;
  const std::string single = rules("t(x) :- r(x, v), v > 3.\n", kFull);
  EXPECT_TRUE(has(single, "t(x) :- r(x, v), v > 3.")) << single;
}

TEST(Lattices, NegatedValues) {
  const std::string seen = rules("t(x) :- e(x, y), !r(x, y).\n", kFull);
  EXPECT_TRUE(has(seen, "t(x) :- e(x, _), !r(x, _).") || has(seen, "t(x) :- e(x, y), !r(x, _)."))
      << seen;
  EXPECT_TRUE(has(seen, "@down(value#1, y) = 0")) << seen;
}

TEST(Lattices, WithoutGlbValuesAreEqual) {
  const std::string seen = rules("t(x) :- r(x, y), e(x, y).\n", ".lattice T<> { Lub -> max(_,_) }");
  EXPECT_TRUE(has(seen, "t(x) :- r(x, y), e(x, y).")) << seen;
  EXPECT_TRUE(has(seen, "does not define Glb")) << seen;
}

TEST(Lattices, WhatIsRefused) {
  const auto refused = [](const std::string& text, const std::string& lattice = kFull) {
    const std::string seen = rules(text, lattice);
    const std::size_t at = seen.find("error: ");
    return at == std::string::npos ? seen : seen.substr(at + 7, seen.find('\n', at) - at - 7);
  };
  EXPECT_EQ(refused(".decl q(v: T<>, x: number)\n"),
            "the lattice attribute `v` must come after all others");
  EXPECT_EQ(refused(".decl q(v: T<>, w: T<>)\n"),
            "not supported yet: more than one lattice attribute in a relation");
  EXPECT_EQ(refused(".type U <: number\n.decl q(v: U<>)\n"), "there is no `.lattice U<>`");
  EXPECT_EQ(refused("r(x, a) <= r(x, b) :- b < a.\n"),
            "`r` cannot be subsumed: it has a lattice attribute");
  EXPECT_EQ(refused(".decl q(x: number, v: T<>) choice-domain x\n"),
            "a relation with a lattice attribute cannot have a choice-domain");
  EXPECT_EQ(refused(".decl q(x: number, v: T<>) brie\n"),
            "a relation with a lattice attribute cannot be brie");
  EXPECT_EQ(refused("t(x) :- r(x, v), s(x, v), v > 1.\n"),
            "`v` stands for several values of a lattice, so it cannot be used in other literals");
  EXPECT_EQ(refused("t(x) :- e(x, y), 1 = count : { r(x, y) }.\n"),
            "not supported yet: a value of a lattice that is known, inside an aggregate");
  EXPECT_EQ(refused("", ".lattice T<> { Bottom -> 1 }"), "lattice `T<>` does not define Lub");
  EXPECT_EQ(refused("", ".lattice T<> { Lub -> _ bxor _ }"),
            "this functor gives no least upper bounds");
  EXPECT_EQ(refused("", ".lattice T<> { Lub -> 1 }"), "Lub and Glb are functors of two `_`");
  EXPECT_EQ(refused("", ".lattice T<> { Lub -> min(_, _), Lob -> 1 }"),
            "a lattice has no operator `Lob`");
  EXPECT_EQ(refused(kFull), "lattice `T<>` is declared twice");
  EXPECT_EQ(refused(".lattice Q<> { Lub -> min(_, _), Glb -> max(_, _), Bottom -> 9 }\n"),
            "unknown type `Q`");
  EXPECT_EQ(refused(".comp C { .lattice T<> { Lub -> min(_, _) } }\n"),
            "`.lattice` stands inside a component");
}

}  // namespace
}  // namespace stratalog::datalog
