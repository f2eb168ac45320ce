// SPDX-License-Identifier: Apache-2.0
// The rules the right way round: for which relations, with which guards, and where heights are not
// to be had so.
#include <gtest/gtest.h>

#include "datalog/prove/query_program.h"
#include "unit/plan/planned_text.h"

namespace stratalog::datalog {
namespace {

QueryProgram forwards_for(const Program& program, const std::string& goal) {
  QueryProgram query = QueryProgram::over(program, EquivalenceGoal::kElement);
  for (std::uint32_t r = 0; r < program.rules.size(); ++r)
    if (is_proof_rule(program.rules[r]))
      query.rules.push_back(open_rule(program, r, Wildcards::kName));
  query.add_forward(program, relation_named(program, goal));
  return query;
}

// The bodies of the rules that make a relation grow: "reached e", "p" (as stored), "!q", "...".
std::vector<std::string> bodies_of(const QueryProgram& query, RelationId relation) {
  std::vector<std::string> bodies;
  const Program& program = query.program;
  for (const std::uint32_t r : program.strata[query.forward->stratum].rules) {
    if (program.rules[r].head != *query.forward->reached[relation]) continue;
    std::string body;
    for (const Literal& literal : program.rules[r].body) {
      body += body.empty() ? "" : ", ";
      if (literal.kind == LiteralKind::kNegatedAtom) body += "!";
      const bool is_atom =
          literal.kind == LiteralKind::kAtom || literal.kind == LiteralKind::kNegatedAtom;
      body += is_atom ? program.relations[literal.atom.relation].name : "...";
    }
    bodies.push_back(body);
  }
  return bodies;
}

const std::string kDoubling =
    ".decl e(x: number, y: number)\n.input e\n.decl p(x: number, y: number)\np(x, y) :- e(x, y).\n"
    "p(x, z) :- p(x, y), p(y, z).\n";

// As questions about what is stored read it.
Program as_written(const std::string& text) { return compiled(text, MagicSets::kMark); }

TEST(ForwardProgram, PositiveAtomsGrowAndTheRestLooksAtWhatIsStored) {
  const Program program = as_written(kDoubling +
                                     ".decl q(x: number)\nq(x) :- p(x, _), !e(x, x), x < 5.\n"
                                     ".decl other(x: number)\nother(x) :- q(x).\n");
  const QueryProgram query = forwards_for(program, "q");
  ASSERT_TRUE(query.forward);
  EXPECT_TRUE(query.forward->joins_itself);
  EXPECT_FALSE(query.forward->reached[relation_named(program, "other")]);
  EXPECT_EQ(bodies_of(query, relation_named(program, "p")),
            (std::vector<std::string>{"reached e", "reached p, reached p"}));
  // The goal has one value of x, so only stored tuples count.
  EXPECT_EQ(bodies_of(query, relation_named(program, "q")),
            (std::vector<std::string>{"reached p, !e, ..., q"}));
}

// The range, and the equation that takes its value to the head.
TEST(ForwardProgram, RulesWithoutPremisesStartFromSomewhere) {
  const Program program = as_written(
      ".decl r(x: number)\n.decl s(x: number)\nr(x) :- x = range(1, 4).\ns(y) :- r(x), "
      "y = x + 1.\n");
  const QueryProgram query = forwards_for(program, "s");
  ASSERT_TRUE(query.forward);
  EXPECT_FALSE(query.forward->joins_itself);
  EXPECT_EQ(bodies_of(query, relation_named(program, "r")),
            (std::vector<std::string>{"..., ..., start of all proofs"}));
}

TEST(ForwardProgram, ChoicesAreThoseThatWereMade) {
  const Program program = as_written(kDoubling +
                                     ".decl c(x: number, y: number) choice-domain x\nc(x, y) :- "
                                     "p(x, y).\n.decl d(x: number)\nd(x) :- c(_, x).\n");
  const QueryProgram query = forwards_for(program, "d");
  ASSERT_TRUE(query.forward);
  EXPECT_EQ(bodies_of(query, relation_named(program, "c")),
            (std::vector<std::string>{"reached p, c"}));
}

TEST(ForwardProgram, NotWhereStoredTuplesDoNotTellWhatWasRead) {
  const Program mixed = as_written(kDoubling + ".input p\n");
  EXPECT_FALSE(forwards_for(mixed, "p").forward);
  const Program classes =
      as_written(kDoubling + ".decl s(x: number, y: number) eqrel\ns(x, y) :- p(x, y).\n");
  EXPECT_FALSE(forwards_for(classes, "s").forward);
  EXPECT_TRUE(forwards_for(classes, "p").forward);
}

}  // namespace
}  // namespace stratalog::datalog
