// SPDX-License-Identifier: Apache-2.0
// Random programs for the comparison of engine and oracle: relations of arity 0 to 4 in layers,
// rules with joins, constants, repeated variables, wildcards, cross products, recursion of every
// shape, negation, comparisons, functors whose values stay in a finite set (so that all programs
// end), ranges and aggregates over lower layers; facts in the program and in files. The same seed
// gives the same program. Local.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "datalog/program.h"
#include "datalog/value_kind_name.h"

namespace stratalog::datalog {

struct GeneratedProgram {
  std::string text;
  std::map<std::string, std::string> fact_files;  // by file name
};

enum class WideValues : std::uint8_t { kSome, kNone };

struct ProgramScale {
  std::uint32_t facts = 15;  // of a relation, at most
  std::uint32_t domain = 6;  // small numbers are below this
  WideValues wide_values = WideValues::kSome;  // numbers of more than 32 bits
};

class ProgramGenerator {
 public:
  explicit ProgramGenerator(std::uint64_t seed, ProgramScale scale = {})
      : random_(seed), scale_(scale) {}

  GeneratedProgram generate() {
    has_wide_values_ = chance(30) && scale_.wide_values == WideValues::kSome;
    const std::uint32_t inputs = 1 + below(3);
    for (std::uint32_t i = 0; i < inputs; ++i) add_relation(0, 1);
    const std::uint32_t layers = 1 + below(3);
    for (std::uint32_t layer = 1; layer <= layers; ++layer) {
      const std::uint32_t members = 1 + below(2);
      const std::uint32_t first = static_cast<std::uint32_t>(relations_.size());
      for (std::uint32_t m = 0; m < members; ++m) {
        add_relation(layer, 0);
        // Relations with the same columns can take each other's rows: mutual recursion along a
        // pivot.
        if (m > 0 && chance(60)) relations_.back().kinds = relations_[first].kinds;
      }
    }
    for (const RelationShape& relation : relations_) declare(relation);
    for (std::size_t r = 0; r < relations_.size(); ++r) {
      if (relations_[r].layer == 0 || chance(20)) add_facts(relations_[r]);
      if (relations_[r].layer > 0) add_rules(relations_[r]);
    }
    if (chance(25)) add_mutual_copies();
    return std::move(program_);
  }

 private:
  using Kinds = std::vector<ValueKind>;
  struct RelationShape {
    std::string name;
    std::uint32_t layer = 0;
    Kinds kinds;
  };
  // What a rule under construction has bound.
  struct Scope {
    std::map<ValueKind, std::vector<std::string>> bound;
    std::string prefix;  // of the names of variables
    std::uint32_t fresh = 0;
    std::vector<std::string> body;

    void bind(ValueKind kind, const std::string& name) {
      auto& names = bound[kind];
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
  };

  // ---- chance ----
  std::uint32_t below(std::uint32_t n) { return static_cast<std::uint32_t>(random_() % n); }
  bool chance(std::uint32_t percent) { return below(100) < percent; }
  template <typename T>
  const T& pick(const std::vector<T>& from) {
    return from[below(static_cast<std::uint32_t>(from.size()))];
  }

  // ---- relations and facts ----
  ValueKind any_kind() {
    const std::uint32_t k = below(100);
    return k < 68   ? ValueKind::kNumber
           : k < 86 ? ValueKind::kSymbol
           : k < 94 ? ValueKind::kUnsigned
                    : ValueKind::kFloat;
  }

  void add_relation(std::uint32_t layer, std::uint32_t least_arity) {
    RelationShape relation{
        .name = fmt::format("r{}", relations_.size()), .layer = layer, .kinds = {}};
    const std::uint32_t a = below(100);
    std::uint32_t arity = a < 8 ? 0 : a < 25 ? 1 : a < 68 ? 2 : a < 90 ? 3 : 4;
    if (arity < least_arity) arity = least_arity;
    for (std::uint32_t c = 0; c < arity; ++c) relation.kinds.push_back(any_kind());
    relations_.push_back(std::move(relation));
  }

  void declare(const RelationShape& relation) {
    std::string attributes;
    for (std::size_t c = 0; c < relation.kinds.size(); ++c)
      attributes +=
          fmt::format("{}c{}: {}", c == 0 ? "" : ", ", c, value_kind_name(relation.kinds[c]));
    program_.text +=
        fmt::format(".decl {}({})\n.output {}\n", relation.name, attributes, relation.name);
    if (chance(20)) program_.text += fmt::format(".printsize {}\n", relation.name);
  }

  // `a(x, y) :- r(x, y)`, `b(y, x) :- a(x, y)` and mostly what brings b back to a, with whatever
  // else there is of each; or a relation that copies itself.
  void add_mutual_copies() {
    const RelationShape from = pick(relations_);
    const std::string names[] = {fmt::format("r{}", relations_.size()),
                                 fmt::format("r{}", relations_.size() + 1)};
    std::vector<std::size_t> places(from.kinds.size());
    for (std::size_t c = 0; c < places.size(); ++c) places[c] = c;
    for (std::size_t c = places.size(); c > 1; --c) {
      const std::size_t other = below(static_cast<std::uint32_t>(c));
      if (from.kinds[places[c - 1]] == from.kinds[places[other]])
        std::swap(places[c - 1], places[other]);
    }
    std::string plain;
    std::string turned;
    for (std::size_t c = 0; c < places.size(); ++c) {
      plain += fmt::format("{}v{}", c == 0 ? "" : ", ", c);
      turned += fmt::format("{}v{}", c == 0 ? "" : ", ", places[c]);
    }
    const bool is_own = chance(30);
    for (std::size_t i = 0; i < (is_own ? 1 : 2); ++i) {
      const RelationShape made{.name = names[i], .layer = from.layer + 1, .kinds = from.kinds};
      declare(made);
      if (i == 0 || chance(30))
        program_.text += fmt::format("{}({}) :- {}({}).\n", names[i], plain, from.name, plain);
      if (chance(40)) add_facts(made);
      relations_.push_back(made);
    }
    const std::string& mirror = names[is_own ? 0 : 1];
    program_.text += fmt::format("{}({}) :- {}({}).\n", mirror, turned, names[0], plain);
    if (!is_own && chance(80))
      program_.text +=
          fmt::format("{}({}) :- {}({}).\n", names[0], plain, mirror, chance(80) ? turned : plain);
    if (chance(20)) add_rules(relations_.back());
  }

  void add_facts(const RelationShape& relation) {
    const bool from_file = chance(50);
    const std::uint32_t count = below(relation.layer == 0 ? scale_.facts + 1 : 4);
    std::string lines;
    for (std::uint32_t i = 0; i < count; ++i) {
      std::string in_program;
      std::string in_file;
      for (std::size_t c = 0; c < relation.kinds.size(); ++c) {
        const std::string value = plain_value(relation.kinds[c]);
        const bool symbol = relation.kinds[c] == ValueKind::kSymbol;
        in_program += fmt::format("{}{}", c == 0 ? "" : ", ", symbol ? '"' + value + '"' : value);
        in_file += fmt::format("{}{}", c == 0 ? "" : "\t", value);
      }
      if (from_file)
        lines += relation.kinds.empty() ? "()\n" : in_file + "\n";
      else
        program_.text += fmt::format("{}({}).\n", relation.name, in_program);
    }
    if (!from_file) return;
    program_.text += fmt::format(".input {}\n", relation.name);
    program_.fact_files[relation.name + ".facts"] = lines;
  }

  // A value as a fact file has it.
  std::string plain_value(ValueKind kind) {
    static const std::vector<std::string> kWideNumbers{
        "-1",         "-7",         "1099511627776",       "9223372036854775807",
        "2130706431", "2130706432", "2147483647",          "4294967295",
        "-16777216",  "-16777217",  "-9223372036854775807"};
    static const std::vector<std::string> kWideUnsigned{"18446744073709551615", "1099511627776",
                                                        "2130706432"};
    // Whose sums depend on the order, if each is rounded; of two large ones it is an infinity.
    static const std::vector<std::string> kUnevenFloats{
        "0.1", "0.7",     "-0.3",    "10000000000000000.0", "-10000000000000000.0", "3.0e-17",
        "0.1", "1.0e308", "5.0e-324"};
    static const std::vector<std::string> kSymbols{"a", "b", "ab", "ba", "c d", "", "7"};
    switch (kind) {
      case ValueKind::kNumber:
        return has_wide_values_ && chance(25) ? pick(kWideNumbers)
                                              : std::to_string(below(scale_.domain));
      case ValueKind::kUnsigned:
        return has_wide_values_ && chance(25) ? pick(kWideUnsigned) : std::to_string(below(6));
      case ValueKind::kFloat:
        return has_wide_values_ && chance(60)
                   ? pick(kUnevenFloats)
                   : fmt::format("{}.{}", below(3), chance(50) ? "5" : "0");
      case ValueKind::kSymbol:
        return pick(kSymbols);
      case ValueKind::kRecord:
        break;  // the generator makes no records
    }
    return "";
  }
  std::string constant(ValueKind kind) {
    const std::string value = plain_value(kind);
    if (kind == ValueKind::kUnsigned) return value + "u";
    return kind == ValueKind::kSymbol ? '"' + value + '"' : value;
  }

  // ---- expressions; all yield finitely many values ----
  bool has_bound(const Scope& scope, ValueKind kind) const {
    const auto at = scope.bound.find(kind);
    return at != scope.bound.end() && !at->second.empty();
  }
  std::string bound_or_constant(const Scope& scope, ValueKind kind) {
    return has_bound(scope, kind) && chance(85) ? pick(scope.bound.at(kind)) : constant(kind);
  }

  std::string expression(const Scope& scope, ValueKind kind, std::uint32_t depth = 0) {
    if (depth > 2 || chance(depth == 0 ? 10 : 45)) return bound_or_constant(scope, kind);
    const auto inner = [&](ValueKind k) { return expression(scope, k, depth + 1); };
    switch (kind) {
      case ValueKind::kNumber:
        switch (below(9)) {
          case 5:
            return fmt::format("to_number(cat(to_string({} % 9), \"x\"))", inner(kind));
          case 0:
            return fmt::format("strlen({})", inner(ValueKind::kSymbol));
          case 1:
            return fmt::format("to_number({} % 9)", inner(ValueKind::kUnsigned));
          case 2:
            return fmt::format("max({}, {})", inner(kind), inner(kind));
          case 3:
            return fmt::format("min({}, {})", inner(kind), inner(kind));
          case 4:
            return fmt::format("(({} bxor {}) band 7)", inner(kind), inner(kind));
          default:
            return fmt::format("(({} {} {}) % {})", inner(kind),
                               pick(std::vector<std::string>{"+", "-", "*", "+"}), inner(kind),
                               2 + below(6));
        }
      case ValueKind::kUnsigned:
        if (chance(30)) return fmt::format("to_unsigned(({}) band 15)", inner(ValueKind::kNumber));
        return fmt::format("(({} + {}) % {})", inner(kind), inner(kind), 2 + below(6));
      case ValueKind::kFloat:
        // Negated: -0.0 is met with 0.0.
        return fmt::format("({}to_float({} % 5) / 2.0)", chance(30) ? "-" : "",
                           inner(ValueKind::kNumber));
      case ValueKind::kSymbol:
        switch (below(4)) {
          case 0:
            return fmt::format("to_string({} % 4)", inner(ValueKind::kNumber));
          case 1:
            return fmt::format("min({}, {})", inner(kind), inner(kind));
          default:
            return fmt::format("substr(cat({}, {}), {}, {})", inner(kind), inner(kind), below(2),
                               1 + below(2));
        }
      case ValueKind::kRecord:
        break;
    }
    return "0";
  }

  // ---- literals ----
  std::string pool_variable(const Scope& scope, ValueKind kind) {
    static const std::map<ValueKind, char> kLetters{{ValueKind::kNumber, 'n'},
                                                    {ValueKind::kUnsigned, 'u'},
                                                    {ValueKind::kFloat, 'f'},
                                                    {ValueKind::kSymbol, 's'}};
    return fmt::format("{}{}{}", scope.prefix, kLetters.at(kind), below(4));
  }

  static bool is_whole(ValueKind kind) {
    return kind == ValueKind::kNumber || kind == ValueKind::kUnsigned;
  }

  // A sum or difference, as in `p(x, i), q(i - 1)`, which can be solved for one of its operands.
  std::string distance(const Scope& scope, ValueKind kind) {
    std::string left = pick(scope.bound.at(kind));
    std::string right = chance(70) ? constant(kind) : pick(scope.bound.at(kind));
    if (chance(25)) std::swap(left, right);
    return fmt::format("{} {} {}", left, chance(50) ? "+" : "-", right);
  }

  // An atom that may bind variables of its scope; `outer` gives further names to join with
  // (aggregates).
  void add_atom(Scope& scope, const RelationShape& relation, const Scope* outer = nullptr) {
    std::string arguments;
    Scope after = scope;
    for (std::size_t c = 0; c < relation.kinds.size(); ++c) {
      const ValueKind kind = relation.kinds[c];
      std::string argument;
      if (chance(12)) {
        argument = "_";
      } else if (chance(10)) {
        argument = constant(kind);
      } else if (outer != nullptr && has_bound(*outer, kind) && chance(35)) {
        argument = pick(outer->bound.at(kind));
      } else if (is_whole(kind) && has_bound(scope, kind) && chance(9)) {
        argument = distance(scope, kind);
      } else {
        argument = pool_variable(scope, kind);
        after.bind(kind, argument);
      }
      arguments += fmt::format("{}{}", c == 0 ? "" : ", ", argument);
    }
    scope.bound = after.bound;
    scope.body.push_back(fmt::format("{}({})", relation.name, arguments));
  }

  void add_negation(Scope& scope, const RelationShape& relation) {
    std::string arguments;
    for (std::size_t c = 0; c < relation.kinds.size(); ++c)
      arguments += fmt::format("{}{}", c == 0 ? "" : ", ",
                               chance(20) ? "_" : bound_or_constant(scope, relation.kinds[c]));
    scope.body.push_back(fmt::format("!{}({})", relation.name, arguments));
  }

  void add_comparison(Scope& scope) {
    const ValueKind kind = any_kind();
    if (!has_bound(scope, kind)) return;
    const std::string left = pick(scope.bound.at(kind));
    if (kind == ValueKind::kSymbol && chance(40)) {
      const std::string test = pick(std::vector<std::string>{"contains", "!contains"});
      scope.body.push_back(fmt::format("{}({}, {})", test, bound_or_constant(scope, kind), left));
      return;
    }
    if (kind == ValueKind::kSymbol && chance(25)) {
      scope.body.push_back(fmt::format("{}match(\"a.*|b\", {})", chance(50) ? "!" : "", left));
      return;
    }
    const std::string op = pick(std::vector<std::string>{"<", "<=", ">", ">=", "!=", "!=", "="});
    const std::string right = chance(70) ? bound_or_constant(scope, kind) : expression(scope, kind);
    scope.body.push_back(fmt::format("{} {} {}", left, op, right));
  }

  // Of a range or an aggregate: now and then one that is bound elsewhere as well.
  std::string result_variable(Scope& scope, ValueKind kind) {
    return chance(25) ? pool_variable(scope, kind) : fresh_variable(scope);
  }
  std::string fresh_variable(Scope& scope) {
    return fmt::format("{}v{}", scope.prefix, scope.fresh++);
  }

  void add_assignment(Scope& scope) {
    const ValueKind kind = any_kind();
    const std::string value = expression(scope, kind);
    const std::string name = fresh_variable(scope);
    scope.body.push_back(chance(80) ? fmt::format("{} = {}", name, value)
                                    : fmt::format("{} = {}", value, name));
    scope.bind(kind, name);
  }

  void add_range(Scope& scope) {
    const std::string name = result_variable(scope, ValueKind::kNumber);
    std::string limit = has_bound(scope, ValueKind::kNumber) && chance(50)
                            ? fmt::format("({}) % 5", pick(scope.bound.at(ValueKind::kNumber)))
                            : std::to_string(below(6));
    const std::string step = chance(25) ? fmt::format(", {}", chance(50) ? "2" : "-2") : "";
    scope.body.push_back(fmt::format("{} = range({}, {}{})", name, below(4), limit, step));
    scope.bind(ValueKind::kNumber, name);
  }

  // What values of two tuples that nothing joins have in common, as in `{ e(x, z), e(y, z) }`.
  // Nothing where the relation has one column only.
  void add_common_values(Scope& scope, std::uint32_t layer) {
    const RelationShape& relation = below_layer(layer);
    const std::size_t columns = relation.kinds.size();
    if (columns < 2) return;
    const std::size_t from = below(static_cast<std::uint32_t>(columns));
    Scope inner;
    inner.prefix = fmt::format("i{}", scope.fresh);
    std::vector<std::string> shared;
    for (std::size_t c = 0; c < columns; ++c) {
      shared.push_back(chance(15) ? "_" : pool_variable(inner, relation.kinds[c]));
      if (c != from && shared[c] != "_") inner.bind(relation.kinds[c], shared[c]);
    }
    for (int side = 0; side < 2; ++side) {
      const std::string own = fresh_variable(scope);
      std::string outside;
      std::string inside;
      for (std::size_t c = 0; c < columns; ++c) {
        const std::string other = chance(70) ? "_" : fresh_variable(scope);
        outside += (c == 0 ? "" : ", ") + (c == from ? own : other);
        inside += (c == 0 ? "" : ", ") + (c == from ? own : shared[c]);
        if (c != from && other != "_") scope.bind(relation.kinds[c], other);
      }
      scope.bind(relation.kinds[from], own);
      scope.body.push_back(fmt::format("{}({})", relation.name, outside));
      inner.body.push_back(fmt::format("{}({})", relation.name, inside));
    }
    if (chance(30)) add_comparison(inner);
    if (chance(20)) add_negation(inner, below_layer(layer));
    write_aggregate(scope, inner);
  }

  void add_aggregate(Scope& scope, std::uint32_t layer) {
    Scope inner;
    inner.prefix = fmt::format("i{}", scope.fresh);
    const std::uint32_t atoms = 1 + below(2);
    for (std::uint32_t a = 0; a < atoms; ++a) add_atom(inner, below_layer(layer), &scope);
    if (chance(25)) add_comparison(inner);
    if (chance(15)) add_negation(inner, below_layer(layer));
    write_aggregate(scope, inner);
  }

  void write_aggregate(Scope& scope, Scope& inner) {
    std::vector<ValueKind> kinds;
    for (const ValueKind kind : {ValueKind::kNumber, ValueKind::kUnsigned, ValueKind::kFloat})
      if (has_bound(inner, kind)) kinds.push_back(kind);
    std::string body;
    for (const std::string& literal : inner.body) body += (body.empty() ? "" : ", ") + literal;
    if (kinds.empty() || chance(30)) {
      const std::string name = result_variable(scope, ValueKind::kNumber);
      scope.body.push_back(fmt::format("{} = count : {{ {} }}", name, body));
      scope.bind(ValueKind::kNumber, name);
      return;
    }
    const ValueKind kind = pick(kinds);
    const std::string function = pick(std::vector<std::string>{"sum", "min", "max", "mean"});
    std::string target = pick(inner.bound.at(kind));
    if (kind != ValueKind::kFloat && chance(30)) target = expression(inner, kind);
    if (function == "mean" && kind != ValueKind::kFloat)
      target = fmt::format("to_float({})", target);
    const ValueKind result = function == "mean" ? ValueKind::kFloat : kind;
    const std::string name = result_variable(scope, result);
    scope.body.push_back(fmt::format("{} = {} {} : {{ {} }}", name, function, target, body));
    scope.bind(result, name);
  }

  // ---- rules ----
  const RelationShape& below_layer(std::uint32_t layer) {
    std::vector<const RelationShape*> candidates;
    for (const RelationShape& r : relations_)
      if (r.layer < layer) candidates.push_back(&r);
    return *pick(candidates);
  }
  const RelationShape& same_layer(std::uint32_t layer) {
    std::vector<const RelationShape*> candidates;
    for (const RelationShape& r : relations_)
      if (r.layer == layer) candidates.push_back(&r);
    return *pick(candidates);
  }

  void write_rule(const RelationShape& head, const std::vector<std::string>& arguments,
                  Scope& scope) {
    std::shuffle(scope.body.begin(), scope.body.end(), random_);
    std::string text = head.name + "(";
    for (std::size_t c = 0; c < arguments.size(); ++c) text += (c == 0 ? "" : ", ") + arguments[c];
    text += ") :- ";
    for (std::size_t l = 0; l < scope.body.size(); ++l)
      text += (l == 0 ? "" : ", ") + scope.body[l];
    program_.text += text + ".\n";
  }

  void add_rules(const RelationShape& head) {
    if (chance(15) && add_closure(head)) return;
    const std::uint32_t count = 1 + below(4);
    for (std::uint32_t i = 0; i < count; ++i) {
      if (i > 0 && !head.kinds.empty() && chance(45))
        add_chain_rule(head);
      else
        add_free_rule(head, i > 0);
    }
  }

  // Two tuples of the relation make another one, where two columns are of one kind.
  bool add_closure(const RelationShape& head) {
    std::vector<std::pair<std::size_t, std::size_t>> pairs;
    for (std::size_t i = 0; i < head.kinds.size(); ++i)
      for (std::size_t j = 0; j < head.kinds.size(); ++j)
        if (i != j && head.kinds[i] == head.kinds[j]) pairs.emplace_back(i, j);
    if (pairs.empty()) return false;
    const auto [begin, end] = pick(pairs);
    for (std::uint32_t rules = 1 + below(2); rules > 0; --rules) add_free_rule(head, false);
    const auto atom = [&, begin = begin, end = end](const char* first, const char* last) {
      std::string text = head.name + "(";
      for (std::size_t c = 0; c < head.kinds.size(); ++c)
        text += (c == 0 ? "" : ", ") + (c == begin ? first
                                        : c == end ? last
                                                   : fmt::format("c{}", c));
      return text + ")";
    };
    std::string tests;
    Scope between;
    between.bind(head.kinds[begin], chance(75) ? "y" : chance(50) ? "x" : "z");
    if (chance(30)) add_tests(between, head.layer);
    for (const std::string& literal : between.body) tests += ", " + literal;
    if (chance(25)) tests += chance(50) ? ", x != z" : ", z != x";
    program_.text += fmt::format("{} :- {}, {}{}.\n", atom("x", "z"), atom("x", "y"),
                                 chance(90) ? atom("y", "z") : atom("z", "y"), tests);
    if (chance(30)) program_.text += fmt::format("{} :- {}.\n", atom("x", "y"), atom("y", "x"));
    return true;
  }

  // Anything goes.
  void add_free_rule(const RelationShape& head, bool may_recur) {
    Scope scope;
    const std::uint32_t a = below(100);
    if (chance(6)) add_common_values(scope, head.layer);
    const std::uint32_t atoms = !scope.body.empty() || a < 4 ? 0 : a < 42 ? 1 : a < 82 ? 2 : 3;
    for (std::uint32_t i = 0; i < atoms; ++i)
      add_atom(scope, may_recur && chance(45) ? same_layer(head.layer) : below_layer(head.layer));
    add_constraints(scope, head.layer, 1);
    if (scope.body.empty()) add_range(scope);
    std::vector<std::string> arguments;
    for (const ValueKind kind : head.kinds)
      arguments.push_back(chance(15) ? expression(scope, kind) : bound_or_constant(scope, kind));
    write_rule(head, arguments, scope);
  }

  void add_constraints(Scope& scope, std::uint32_t layer, std::uint32_t weight) {
    if (chance(14 * weight)) add_aggregate(scope, layer);
    if (chance(8 * weight)) add_range(scope);
    if (chance(15 * weight)) add_assignment(scope);
    if (chance(25 * weight)) add_negation(scope, below_layer(layer));
    if (chance(30 * weight)) add_comparison(scope);
  }

  // A row of the same layer goes on with one or two of its columns changed by a join: the shape of
  // closures, along a pivot where the other columns stay.
  void add_chain_rule(const RelationShape& head) {
    std::vector<const RelationShape*> sources;
    for (const RelationShape& r : relations_)
      if (r.layer == head.layer && r.kinds == head.kinds) sources.push_back(&r);
    const RelationShape& source = *pick(sources);
    Scope scope;
    std::vector<std::string> arguments;
    std::string atom;
    for (std::size_t c = 0; c < head.kinds.size(); ++c) {
      arguments.push_back(fmt::format("x{}", c));
      atom += fmt::format("{}x{}", c == 0 ? "" : ", ", c);
      scope.bind(head.kinds[c], arguments.back());
    }
    scope.body.push_back(fmt::format("{}({})", source.name, atom));
    const bool keep_pivot = chance(60);
    if (keep_pivot && head.kinds.size() > 1) {  // the first column is not used elsewhere
      auto& names = scope.bound[head.kinds[0]];
      names.erase(names.begin());
    }
    const std::size_t changed =
        head.kinds.size() == 1 ? 0 : 1 + below(static_cast<std::uint32_t>(head.kinds.size()) - 1);
    const RelationShape& step = chance(20) ? source : below_layer(head.layer);
    std::string step_arguments;
    bool joined = false;
    bool replaced = false;
    for (std::size_t c = 0; c < step.kinds.size(); ++c) {
      std::string argument;
      if (!joined && step.kinds[c] == head.kinds[changed]) {
        argument = fmt::format("x{}", changed);
        joined = true;
      } else if (!replaced && step.kinds[c] == head.kinds[changed]) {
        argument = "y";
        arguments[changed] = argument;
        replaced = true;
      } else {
        argument = chance(50) ? "_" : bound_or_constant(scope, step.kinds[c]);
      }
      step_arguments += fmt::format("{}{}", c == 0 ? "" : ", ", argument);
    }
    scope.body.push_back(fmt::format("{}({})", step.name, step_arguments));
    if (chance(keep_pivot ? 20 : 50)) add_constraints(scope, head.layer, 1);
    if (keep_pivot && head.kinds.size() > 1 && chance(30)) {
      Scope tested;
      tested.bind(head.kinds[0], "x0");
      if (chance(50)) tested.bind(head.kinds[changed], arguments[changed]);
      add_tests(tested, head.layer);
      if (head.kinds[0] == head.kinds[changed] && chance(30))
        tested.body = {fmt::format("x0 != {}", arguments[changed])};
      std::move(tested.body.begin(), tested.body.end(), std::back_inserter(scope.body));
    }
    write_rule(head, arguments, scope);
  }

  // Of what is bound, which they add nothing to.
  void add_tests(Scope& scope, std::uint32_t layer) {
    for (std::uint32_t i = 1 + below(2); i > 0; --i) {
      if (chance(40)) {
        for (int tries = 0; tries < 3; ++tries) add_comparison(scope);
        continue;
      }
      add_negation(scope, below_layer(layer));
      if (chance(60)) scope.body.back().erase(0, 1);  // that it is there
    }
  }

  std::mt19937_64 random_;
  ProgramScale scale_;
  bool has_wide_values_ = false;
  std::vector<RelationShape> relations_;
  GeneratedProgram program_;
};

}  // namespace stratalog::datalog
