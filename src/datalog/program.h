// SPDX-License-Identifier: Apache-2.0
// A checked program: what the language stage hands to the planner. Everything is resolved
// (relations and variables are numbers), typed, grounded and stratified; disjunctions and rules
// with several heads are already split into single rules; expressions inside body atoms are already
// lifted into constraints. Plain values, no behaviour, no files.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace stratalog::datalog {

// Columns of a relation, at most.
inline constexpr std::size_t kMaxArity = 64;

using RelationId = std::uint32_t;
using VariableId = std::uint32_t;

// kRecord: a record, or a value of an algebraic data type that has fields. (Types whose branches
// are all without fields are numbers.)
enum class ValueKind : std::uint8_t { kNumber, kUnsigned, kFloat, kSymbol, kRecord };

// Indices into Program::structures and Program::shapes.
using StructureId = std::uint32_t;
inline constexpr StructureId kNoStructure = 0xFFFFFFFFU;

// One-based line and column in the user's file (after undoing the preprocessor's #line marks).
struct SourcePlace {
  std::string file;
  std::uint32_t line = 0;
  std::uint32_t column = 0;
};

struct Attribute {
  std::string name;
  std::string type_name;  // as declared, possibly a subtype
  ValueKind kind = ValueKind::kNumber;
  StructureId structure = kNoStructure;  // of a record or an algebraic data type
};

enum class StructureForm : std::uint8_t {
  kRecord,  // one branch without a name; values are nil or a record
  kAlgebraic,  // values are records that begin with the number of their branch
  kEnumeration,  // algebraic, but no branch has fields: values are the numbers of branches
};

struct Branch {
  std::string name;
  std::vector<Attribute> fields;
  std::uint32_t shape = 0;  // into Program::shapes; meaningless for kEnumeration
};

// A record type or an algebraic data type.
struct Structure {
  std::string name;
  StructureForm form = StructureForm::kRecord;
  std::vector<Branch> branches;  // ascending by name, which gives them their numbers
};

enum class IoAction : std::uint8_t { kInput, kOutput, kPrintSize };

// One .input/.output/.printsize with Soufflé's parameters (IO, filename, delimiter, headers,
// compress, ...).
struct IoDirective {
  IoAction action = IoAction::kInput;
  std::map<std::string, std::string> parameters;
  SourcePlace place;
};

// A relation that the engine fills: the tuples of `source` in order of their values, each followed
// by a number. Numbers start behind those of numbered relations of earlier strata.
struct Numbering {
  RelationId source = 0;
  std::uint32_t step = 1;  // from one tuple to the next
};

// A relation that the engine fills while the stratum of both runs: for each value of the first
// columns of `terms`, as many as are here beside the last, the sum of its last column, or how many
// tuples there are. Keeps the greatest value of each key; where `terms` does so as well, sums are
// those of the greatest values.
struct Sums {
  RelationId terms = 0;
  bool counts = false;
  friend bool operator==(const Sums&, const Sums&) = default;
};

struct Relation {
  std::string name;
  std::vector<Attribute> attributes;  // arity 0 is legal
  std::vector<IoDirective> io;
  std::shared_ptr<const std::vector<Structure>> structures;  // Program::structures
  std::vector<std::string>
      qualifiers;  // brie, btree, ...: accepted; they do not change the meaning
  // choice-domain: of tuples that agree in the columns of some key only the first one stays.
  // Columns ascending, keys distinct.
  std::vector<std::vector<std::uint32_t>> choice_keys;
  // .limitsize: the recursion ends after the round in which the relation gets that large.
  std::optional<std::uint64_t> size_limit;
  std::optional<Numbering> numbering;  // then there are no rules, facts and inputs
  std::optional<Sums> sums;  // then there are no rules, facts and inputs
  // Whether some .output or .printsize depends on it, or anything may be asked of it. The fact file
  // of one that is not needed may be missing, as Soufflé does not read it at all.
  bool is_needed = true;
  bool is_restricted = false;  // magic sets: of what no output asks for tuples may be missing
  // Facts that somebody has for it belong there: its own rules then read them.
  std::optional<RelationId> facts_into;
  SourcePlace place;
};

enum class Functor : std::uint8_t {
  // arithmetic; operand and result kinds are equal (number, unsigned or float)
  kNegate,
  kAdd,
  kSubtract,
  kMultiply,
  kDivide,
  kModulo,
  kPower,
  kMin,
  kMax,
  // bits and logic on number and unsigned
  kBitNot,
  kBitAnd,
  kBitOr,
  kBitXor,
  kShiftLeft,
  kShiftRight,
  kShiftRightUnsigned,
  kLogicalNot,
  kLogicalAnd,
  kLogicalOr,
  kLogicalXor,
  // strings
  kCat,
  kStrlen,
  kSubstr,
  kOrd,
  // conversions: the argument's kind and the expression's kind say from what to what
  kToNumber,
  kToUnsigned,
  kToFloat,
  kToString,
  // `as(x, T)`: reinterprets the same 64 bits
  kReinterpret,
  // `recursive_iteration_cnt()`: which pass over the recursive rules this is, from 1 on; 0 in rules
  // without recursion
  kIteration,
  // a record of Expression::shape
  kPack,
  // `autoinc()`: only inside the language stage, which takes it apart (Relation::numbering)
  kCounter,
  // `@f(...)`: Expression::shape says which of Program::external_functors
  kExternal,
};

enum class ExpressionKind : std::uint8_t { kVariable, kConstant, kFunctor };

// A typed expression tree. Constants: `bits` is the 64-bit pattern of a number (two's complement),
// unsigned or float (IEEE double); a symbol constant has its characters in `text`.
struct Expression {
  ExpressionKind kind = ExpressionKind::kConstant;
  ValueKind value_kind = ValueKind::kNumber;
  VariableId variable = 0;
  std::uint64_t bits = 0;
  std::string text;
  Functor functor = Functor::kAdd;
  std::vector<Expression> arguments;
  // kPack: into Program::shapes; `text` is the branch, as in "$Some". kExternal: into
  // Program::external_functors; `text` is the name, as in "@f".
  std::uint32_t shape = 0;
};

inline Expression variable_expression(VariableId variable, ValueKind kind) {
  Expression e;
  e.kind = ExpressionKind::kVariable;
  e.value_kind = kind;
  e.variable = variable;
  return e;
}

enum class ArgumentKind : std::uint8_t { kVariable, kConstant, kWildcard };

// An argument of a body atom: never a compound expression.
struct Argument {
  ArgumentKind kind = ArgumentKind::kWildcard;
  VariableId variable = 0;
  Expression constant;
};

inline Argument variable_argument(VariableId variable) {
  Argument argument;
  argument.kind = ArgumentKind::kVariable;
  argument.variable = variable;
  return argument;
}

struct Atom {
  RelationId relation = 0;
  std::vector<Argument> arguments;
  SourcePlace place;
};

enum class Comparison : std::uint8_t {
  kEqual,
  kNotEqual,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,
  kMatch,
  kNotMatch,
  kContains,
  kNotContains,  // match(pattern, text), contains(needle, text)
};

// Whether it looks into texts, where a pattern may be malformed.
constexpr bool searches_text(Comparison comparison) { return comparison >= Comparison::kMatch; }

enum class AggregateFunction : std::uint8_t {
  kCount,
  kSum,
  kMin,
  kMax,
  kMean,
  // `@@f value : first, { ... }`: an external functor of what there is so far and the next value.
  // The target is the call `@f(first, value)`, whose first argument is what the fold begins with.
  kFold,
};

enum class LiteralKind : std::uint8_t {
  kAtom,  // atom
  kNegatedAtom,  // !atom; all its variables are grounded elsewhere
  kComparison,  // left comparison right; `v = expression` grounds v when expression is grounded
  kAggregate,  // variable = function expression : { body }
  kRange,  // variable = range(from, to, step): from inclusive, to exclusive, Soufflé's meaning
};

// What an equation of a variable and a kPack is there for. Everywhere the arguments of the kPack
// are variables and constants, and the equation takes a record apart where the variable is known.
enum class RecordUse : std::uint8_t {
  kValue,  // a value: made where all arguments are known
  kFound,  // the pattern of an argument of an atom: a record that nobody has made matches nothing
  kAbsent,  // the same of a negated atom: a record that nobody has made is in no relation
};

struct Literal;

struct Aggregate {
  AggregateFunction function = AggregateFunction::kCount;
  VariableId result = 0;
  ValueKind result_kind = ValueKind::kNumber;
  Expression target;  // unused for count
  std::vector<Literal> body;  // same variable numbering as the rule
  std::vector<VariableId> outer;  // variables of `body` that are grounded outside, ascending
};

struct Range {
  VariableId variable = 0;
  ValueKind value_kind = ValueKind::kNumber;
  Expression from;
  Expression to;
  Expression
      step;  // the constant 1 (or -1 when from > to, decided at run time) if has_step is false
  bool has_step = false;
};

struct Literal {
  LiteralKind kind = LiteralKind::kAtom;
  Atom atom;
  Comparison comparison = Comparison::kEqual;
  Expression left;
  Expression right;
  std::shared_ptr<const Aggregate> aggregate;
  std::shared_ptr<const Range> range;
  RecordUse record_use = RecordUse::kValue;
  SourcePlace place;
};

// Whether it reads a relation itself, negated or not.
inline bool reads_atom(const Literal& literal) {
  return literal.kind == LiteralKind::kAtom || literal.kind == LiteralKind::kNegatedAtom;
}

struct Variable {
  std::string name;  // as written, or "_1" style names for lifted expressions
  ValueKind kind = ValueKind::kNumber;
};

enum class RuleRole : std::uint8_t {
  kDerives,
  kSubsumes,  // dominated <= dominating :- rest. The first two atoms of the body are these two.
};

// `.plan`: how the version of a rule that reads new tuples at one atom joins its atoms. Both are
// places in the body; `atoms` names each positive atom once, the first one to be read first.
struct JoinOrder {
  std::uint32_t delta_literal = 0;
  std::vector<std::uint32_t> atoms;
};

// head :- body. A fact has an empty body and a constant head.
struct Rule {
  RuleRole role = RuleRole::kDerives;
  // kSubsumes: `r(x, a) <= r(x, b) :- b = f(a, b).` of a lattice whose Lub is f. Of two values
  // neither of which is above the other, the Lub takes the place of both.
  bool unites_values = false;
  // kSubsumes: of a lattice, or an aggregate in recursion, that has one value for each key. Floats
  // that are equal, and NaN, are then in order, too: -0 before 0, NaN behind all that is wanted.
  bool keeps_one_value = false;
  RelationId head = 0;
  // kSubsumes: those of the dominated atom, then those of the dominating one.
  std::vector<Expression> head_arguments;
  std::vector<Literal> body;
  std::vector<Variable> variables;
  std::vector<JoinOrder> join_orders;  // other versions are planned from sizes
  std::string text;  // normalised source text, one line, for `explain` and profiles
  std::string written;  // as the source has it, on one line, for people; empty: nobody wrote it
  SourcePlace place;
};

// One strongly connected component of the dependency graph; components come in an order in which
// each depends on earlier ones only.
struct Stratum {
  std::vector<RelationId> relations;  // ascending
  std::vector<std::uint32_t>
      rules;  // ascending indices into Program::rules whose head is in `relations`
  std::vector<std::uint32_t> subsumptions;  // the same of rules that subsume
  bool is_recursive = false;

  bool holds(RelationId relation) const { return std::ranges::binary_search(relations, relation); }
};

// What an external functor takes or gives.
struct ExternalType {
  ValueKind kind = ValueKind::kNumber;
  StructureId structure = kNoStructure;  // of a record or an algebraic data type
};

// `.functor f(x: number): symbol`: a function of a shared library.
struct ExternalFunctor {
  std::string name;  // without the @
  std::vector<ExternalType> arguments;
  ExternalType result;
  // Handed Soufflé's tables of symbols and records; only then there are structures.
  bool is_stateful = false;
  SourcePlace place;
};

// `.pragma "name" "value"`: an option of the command (fact-dir, output-dir, libraries,
// library-dir), which an option on the command line overrides.
struct Pragma {
  std::string name;
  std::string value;
};

struct Program {
  std::vector<Relation> relations;
  std::vector<Rule> rules;
  std::vector<Stratum> strata;
  std::shared_ptr<const std::vector<Structure>> structures;  // never null
  // The fields of records, each kind distinct only as far as cells are: kNumber (any number),
  // kSymbol or kRecord. Types with equal lists share a shape.
  std::vector<std::vector<ValueKind>> shapes;
  std::vector<ExternalFunctor> external_functors;  // in the order of their declarations
  std::vector<Pragma> pragmas;  // those that have a meaning, in the order of the text
  std::string source_text;  // after the preprocessor; hashed for checkpoints
};

}  // namespace stratalog::datalog
