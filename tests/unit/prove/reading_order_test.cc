// SPDX-License-Identifier: Apache-2.0
// What the compiler lifted out of literals belongs to them, is shown in its place, and is checked
// together with them.
#include "datalog/prove/reading_order.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "datalog/prove/tuple_text.h"
#include "datalog/prove/written_body.h"
#include "unit/plan/planned_text.h"

namespace stratalog::datalog {
namespace {

const std::string kDeclarations =
    ".type P = [a: number, b: symbol]\n.decl e(x: number, y: number)\n.input e\n"
    ".decl r(p: P, n: number)\n.input r\n.decl h(x: number, y: number)\n";

// The literals as they are written, of the rule for h.
std::vector<std::string> written_in(const std::string& rule) {
  const Program program = compiled(kDeclarations + rule);
  const Rule& compiled_rule = program.rules.back();
  const ValueDictionary dictionary;
  const NewValues values(dictionary);
  std::vector<std::string> texts;
  for (const WrittenLiteral& each : written_body(compiled_rule.body, compiled_rule.variables))
    texts.push_back(
        TupleText(program, values).literal(compiled_rule, compiled_rule.body[each.shown], {}));
  return texts;
}

// "shown/literals/preparing" of each step.
std::vector<std::string> steps_of(const std::string& rule) {
  const Program program = compiled(kDeclarations + rule);
  const ReadingOrder order = reading_order(
      open_rule(program, static_cast<std::uint32_t>(program.rules.size() - 1), Wildcards::kKeep));
  std::vector<std::string> steps;
  for (const ReadingStep& step : order.steps)
    steps.push_back(
        fmt::format("{}/{}/{}", step.shown, fmt::join(step.literals, ","), step.preparing));
  return steps;
}

using Texts = std::vector<std::string>;

TEST(WrittenBody, ExpressionsStandWhereTheyWereWritten) {
  EXPECT_EQ(written_in("h(x, y) :- e(x, y), !e(x + 5, y * 2)."),
            (Texts{"e(x, y)", "!e(x + 5, y * 2)"}));
  EXPECT_EQ(written_in("h(x, y) :- e(x, y), r([x, to_string(y)], y + 1)."),
            (Texts{"e(x, y)", "r([x, to_string(y)], y + 1)"}));
  EXPECT_EQ(written_in("h(x, y) :- e(x, y), !r([x, cat(\"a\", to_string(y))], 1)."),
            (Texts{"e(x, y)", "!r([x, cat(\"a\", to_string(y))], 1)"}));
  EXPECT_EQ(written_in("h(x, x) :- r(p, x), p = [x, s], s != \"\"."),
            (Texts{"r(p, x)", "p = [x, s]", "s != \"\""}));
}

TEST(WrittenBody, RangesAndAggregatesAreOneWithWhatTheyEqual) {
  EXPECT_EQ(written_in("h(x, y) :- e(x, y), x = range(0, y)."),
            (Texts{"e(x, y)", "_ is one of range(0, y)"}));
  EXPECT_EQ(written_in("h(x, y) :- e(x, y), x = count : { e(_, _) }."),
            (Texts{"e(x, y)", "_ = count : { e(_, _) }"}));
  EXPECT_EQ(written_in("h(x, y) :- e(x, y), x < sum z : { e(z, _) }."),
            (Texts{"e(x, y)", "_ = sum z : { e(z, _) }", "x < _"}));
}

TEST(WrittenBody, AggregatesHaveNoRelationsOfTheCompiler) {
  EXPECT_EQ(written_in("h(x, y) :- e(x, _), y = sum z + 1 : { e(z, _), r([z, _], _) }."),
            (Texts{"e(x, _)", "y = sum z + 1 : { e(z, _), r([z, _], _) }"}));
  EXPECT_EQ(written_in("h(x, y) :- e(x, _), y = count : { e(_, z), r([z, \"a\"], z + 1) }."),
            (Texts{"e(x, _)", "y = count : { e(_, z), r([z, \"a\"], z + 1) }"}));
  EXPECT_EQ(written_in("h(x, y) :- e(x, _), y = sum z * (count : { e(_, z) }) : { e(z, _) }."),
            (Texts{"e(x, _)", "y = sum z * (count : { e(_, z) }) : { e(z, _) }"}));
  EXPECT_EQ(written_in("h(x, y) :- e(x, _), y = count : { e(z, u), u = max v : { e(v, z) } }."),
            (Texts{"e(x, _)", "y = count : { e(z, u), u = max v : { e(v, z) } }"}));
}

// The goal gives x and y; the range has a variable of its own, and is compared at once.
TEST(ReadingOrder, GoalsGiveRangesTheirValues) {
  EXPECT_EQ(steps_of("h(x, y) :- x = range(0, 3), y = range(0, 3), x + y = 4."),
            (Texts{"0/0,1/1", "2/2,3/1", "4/4/0"}));
  EXPECT_EQ(steps_of("h(x, y) :- e(x, z), y = count : { e(_, z) }, y > x."),
            (Texts{"0/0/0", "1/1,2/1", "3/3/0"}));
  // e(x, y), then the range and `x = _1`.
  EXPECT_EQ(steps_of("h(x, y) :- e(x, y), x = range(0, y)."), (Texts{"0/0/0", "1/1,2/1"}));
}

TEST(ReadingOrder, LiftedExpressionsComeWithTheirAtoms) {
  // The negated atom stands behind `_1 = x + 5` and `_2 = y * 2`, the positive one before.
  EXPECT_EQ(steps_of("h(x, y) :- e(x, y), !e(x + 5, y * 2)."), (Texts{"0/0/0", "3/1,2,3/2"}));
  EXPECT_EQ(steps_of("h(x, y) :- e(x + 5, y * 2), e(x, y)."), (Texts{"0/1,2,0/2", "3/3/0"}));
  // A record of unknown fields is taken apart behind its atom.
  EXPECT_EQ(steps_of("h(x, y) :- r([x, s], y), s != \"\"."), (Texts{"0/0,1/0", "2/2/0"}));
  // What gives the value of an expression goes before its atom.
  EXPECT_EQ(steps_of("h(x, y) :- r(_, z + 1), e(x, z), e(z, y)."),
            (Texts{"2/2/0", "0/1,0/1", "3/3/0"}));
}

// z of e(u + 1, z) needs u, u of e(z + 1, u) needs z: the rest of the first is a test of its own.
TEST(ReadingOrder, ExpressionsThatNeedEachOtherAreTestsOfTheirOwn) {
  EXPECT_EQ(steps_of("h(1, 1) :- e(u + 1, z), e(z + 1, u)."), (Texts{"0/0/0", "2/3,2/1", "1/1/0"}));
}

TEST(ReadingOrder, RecordsOfTheGoalAreTakenApartFirst) {
  const Program program =
      compiled(kDeclarations + ".decl q(p: P)\nq([x, to_string(x)]) :- e(x, _).");
  const OpenRule open =
      open_rule(program, static_cast<std::uint32_t>(program.rules.size() - 1), Wildcards::kKeep);
  const ReadingOrder order = reading_order(open);
  EXPECT_EQ(order.head, (std::vector<std::uint32_t>{2}));
  EXPECT_EQ(open.columns, (std::vector<std::uint32_t>{0, 0}));
  ASSERT_EQ(order.steps.size(), 2);
  EXPECT_EQ(order.steps[1].literals, (std::vector<std::uint32_t>{1}));
}

}  // namespace
}  // namespace stratalog::datalog
