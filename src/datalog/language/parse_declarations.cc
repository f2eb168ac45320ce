// SPDX-License-Identifier: Apache-2.0
// The directives: .decl, .type, .input/.output/.printsize, .pragma, .plan.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

#include "datalog/language/parser.h"
#include "datalog/language/spelling.h"

namespace stratalog::datalog::language {

// .decl a, b(x:number, y:symbol) btree choice-domain x
bool Parser::parse_relations() {
  advance();
  std::vector<NameSyntax> names;
  do {
    NameSyntax name;
    if (!parse_name(name, "the name of a relation")) return false;
    names.push_back(std::move(name));
  } while (accept(TokenKind::kComma));

  RelationSyntax relation;
  if (is_at(TokenKind::kEqual) && names.size() == 1) return parse_debug_delta(names[0]);
  const bool has_attributes = parse_attributes(relation.attributes);
  if (has_attributes) parse_qualifiers(relation.qualifiers);
  if (!has_attributes || !parse_choice_keys(relation.choice_keys)) {
    for (const NameSyntax& name : names) program_.broken_relations.insert(name.name);
    return false;
  }
  for (NameSyntax& name : names) {
    for (const NameSyntax& qualifier : relation.qualifiers) {
      // Deprecated spelling of .input, .output and .printsize.
      const bool is_input = qualifier.name == "input";
      if (!is_input && qualifier.name != "output" && qualifier.name != "printsize") continue;
      sink_.warning(qualifier.span, fmt::format("the qualifier `{}` is deprecated", qualifier.name))
          .hint = fmt::format("write `.{} {}`", qualifier.name, name.name);
      DirectiveSyntax directive;
      directive.action = is_input                     ? IoAction::kInput
                         : qualifier.name == "output" ? IoAction::kOutput
                                                      : IoAction::kPrintSize;
      directive.relations.push_back(name);
      directive.span = qualifier.span;
      program_.directives.push_back(std::move(directive));
    }
    relation.name = std::move(name);
    program_.relations.push_back(relation);
  }
  return true;
}

bool Parser::parse_attributes(std::vector<AttributeSyntax>& attributes) {
  if (!expect(TokenKind::kLeftParen, "`(` and the attributes, as in `(x: number, y: symbol)`")) {
    return false;
  }
  if (accept(TokenKind::kRightParen)) return true;
  do {
    AttributeSyntax attribute;
    if (!skip_annotations()) return false;
    if (!parse_name(attribute.name, "the name of an attribute, as in `x: number`")) return false;
    if (!expect(TokenKind::kColon, "`:` and the type of the attribute")) return false;
    if (!parse_qualified_name(attribute.type,
                              "a type: number, unsigned, float, symbol or a declared one")) {
      return false;
    }
    attribute.is_lattice = accept(TokenKind::kLess);
    if (attribute.is_lattice && !expect(TokenKind::kGreater, "`<>` behind the type of a lattice"))
      return false;
    attributes.push_back(std::move(attribute));
  } while (accept(TokenKind::kComma));
  return expect(TokenKind::kRightParen, "`,` or `)`");
}

void Parser::parse_qualifiers(std::vector<NameSyntax>& qualifiers) {
  while (is_at(TokenKind::kQualifier) || report_unknown_qualifier()) {
    if (!is_at(TokenKind::kQualifier)) continue;
    NameSyntax qualifier{std::string(text_of(token_)), token_.span};
    const bool is_repeated =
        std::any_of(qualifiers.begin(), qualifiers.end(),
                    [&](const NameSyntax& other) { return other.name == qualifier.name; });
    if (is_repeated)
      sink_.error(token_.span, fmt::format("the qualifier `{}` is given twice", qualifier.name));
    qualifiers.push_back(std::move(qualifier));
    advance();
  }
}

// A word on the line of a declaration that begins no clause was meant as a qualifier.
bool Parser::report_unknown_qualifier() {
  static const std::vector<std::string> kQualifiers = {
      "brie",     "btree",       "btree_delete", "choice-domain", "eqrel",  "inline",   "magic",
      "no_magic", "overridable", "no_inline",    "input",         "output", "printsize"};
  if (!is_at(TokenKind::kIdentifier)) return false;
  const TokenKind after = peek_after().kind;
  const bool begins_clause = after == TokenKind::kLeftParen || after == TokenKind::kDot ||
                             after == TokenKind::kIf || after == TokenKind::kComma;
  const std::string_view between = lexer_.text_of({previous_.end, token_.span.begin});
  if (begins_clause || between.find('\n') != std::string_view::npos) return false;
  DiagnosticDraft& draft =
      sink_.error(token_.span, fmt::format("unknown qualifier `{}`", text_of(token_)));
  draft.hint = suggest(text_of(token_), kQualifiers);
  if (draft.hint.empty())
    draft.hint = fmt::format("the qualifiers are {}", fmt::join(kQualifiers, ", "));
  advance();
  return true;
}

// choice-domain x, (y, z)
bool Parser::parse_choice_keys(std::vector<ChoiceKeySyntax>& keys) {
  if (!accept(TokenKind::kChoiceDomain)) return true;
  do {
    ChoiceKeySyntax& key = keys.emplace_back();
    const bool is_list = accept(TokenKind::kLeftParen);
    do {
      if (!parse_name(key.attributes.emplace_back(), "an attribute, or several as in `(x, y)`"))
        return false;
    } while (is_list && accept(TokenKind::kComma));
    if (is_list && !expect(TokenKind::kRightParen, "`,` or `)`")) return false;
  } while (accept(TokenKind::kComma));
  return true;
}

// .decl name = debug_delta(relation)
bool Parser::parse_debug_delta(NameSyntax name) {
  advance();
  program_.broken_relations.insert(name.name);
  RelationSyntax relation;
  NameSyntax source;
  if (!expect(TokenKind::kDebugDelta, "`debug_delta(relation)`") ||
      !expect(TokenKind::kLeftParen, "`(` and a relation") ||
      !parse_qualified_name(source, "a relation") || !expect(TokenKind::kRightParen, "`)`")) {
    return false;
  }
  parse_qualifiers(relation.qualifiers);
  program_.broken_relations.erase(name.name);
  relation.name = std::move(name);
  relation.delta_of = std::move(source);
  program_.relations.push_back(std::move(relation));
  return true;
}

// .limitsize name(n=count)
bool Parser::parse_size_limit() {
  const Span start = token_.span;
  advance();
  std::vector<NameSyntax> names;
  do {
    if (!parse_qualified_name(names.emplace_back(), "the name of a relation")) return false;
  } while (accept(TokenKind::kComma));
  std::vector<ParameterSyntax> parameters;
  if (is_at(TokenKind::kLeftParen) && !parse_parameters(parameters)) return false;
  const auto report = [&](Span span, std::string message) {
    sink_.error(span, std::move(message)).expected = "`.limitsize name(n=1000)`";
  };
  std::optional<std::uint64_t> count;
  for (const ParameterSyntax& parameter : parameters) {
    if (parameter.key.name != "n") {
      report(parameter.key.span,
             fmt::format("`.limitsize` has no parameter `{}`", parameter.key.name));
      return true;
    }
    const std::string& digits = parameter.value;
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc() || end != digits.data() + digits.size()) {
      report(parameter.value_span, fmt::format("`{}` is not a number of tuples", digits));
      return true;
    }
    count = value;
  }
  if (!count) report(start, "`.limitsize` without a number of tuples");
  for (NameSyntax& name : names)
    program_.size_limits.push_back({std::move(name), count.value_or(0), kNoInstance});
  return true;
}

bool Parser::parse_type() {
  advance();
  TypeSyntax type;
  if (!parse_name(type.name, "the name of the new type")) return false;
  if (accept(TokenKind::kSubtype)) {
    type.form = TypeForm::kSubtype;
    NameSyntax base;
    if (!parse_qualified_name(base, "the type that it specialises")) {
      program_.broken_types.insert(type.name.name);
      return false;
    }
    type.members.push_back(std::move(base));
  } else if (accept(TokenKind::kEqual)) {
    if (is_at(TokenKind::kLeftBracket)) {
      if (!parse_record_type(type)) {
        program_.broken_types.insert(type.name.name);
        return false;
      }
      program_.types.push_back(std::move(type));
      return true;
    }
    if (is_at(TokenKind::kAt)) return parse_annotated_branches(std::move(type));
    do {
      NameSyntax member;
      if (!parse_qualified_name(member, "a type, or several with `|` between them")) {
        program_.broken_types.insert(type.name.name);
        return false;
      }
      if (is_at(TokenKind::kLeftBrace) && type.members.empty()) {
        if (!parse_branches(type, std::move(member))) {
          program_.broken_types.insert(type.name.name);
          return false;
        }
        program_.types.push_back(std::move(type));
        return true;
      }
      type.members.push_back(std::move(member));
    } while (accept(TokenKind::kPipe));
    type.form = type.members.size() == 1 ? TypeForm::kAlias : TypeForm::kUnion;
  } else {
    sink_
        .warning(type.name.span,
                 "a type without a base is a deprecated way to declare a symbol type")
        .hint = fmt::format("write `.type {} <: symbol`", type.name.name);
    type.members.push_back({"symbol", type.name.span});
  }
  program_.types.push_back(std::move(type));
  return true;
}

// Soufflé has annotations here before branches only, not before united types.
bool Parser::parse_annotated_branches(TypeSyntax type) {
  NameSyntax branch;
  if (!skip_annotations() ||
      !parse_name(branch, "the name of a branch, as in `Branch { x: number }`") ||
      !parse_branches(type, std::move(branch))) {
    program_.broken_types.insert(type.name.name);
    return false;
  }
  program_.types.push_back(std::move(type));
  return true;
}

bool Parser::parse_legacy_type(std::string_view base) {
  const Span directive = token_.span;
  advance();
  TypeSyntax type;
  if (!parse_name(type.name, "the name of the new type")) return false;
  sink_.warning(directive, fmt::format("`.{}_type` is deprecated", base)).hint =
      fmt::format("write `.type {} <: {}`", type.name.name, base);
  type.members.push_back({std::string(base), type.name.span});
  program_.types.push_back(std::move(type));
  return true;
}

bool Parser::parse_io(IoAction action) {
  DirectiveSyntax directive;
  directive.action = action;
  directive.span = token_.span;
  advance();
  do {
    NameSyntax name;
    if (!parse_qualified_name(name, "the name of a relation")) return false;
    directive.relations.push_back(std::move(name));
  } while (accept(TokenKind::kComma));
  // `(` right after the name opens the parameters.
  if (is_at(TokenKind::kLeftParen) && !parse_parameters(directive.parameters)) return false;
  program_.directives.push_back(std::move(directive));
  return true;
}

bool Parser::parse_parameters(std::vector<ParameterSyntax>& parameters) {
  advance();
  if (accept(TokenKind::kRightParen)) return true;
  do {
    ParameterSyntax parameter;
    if (!parse_name(parameter.key, "a parameter, as in `filename=\"edges.tsv\"`")) return false;
    if (!expect(TokenKind::kEqual, "`=` and the value of the parameter")) return false;
    parameter.value_span = token_.span;
    switch (token_.kind) {
      case TokenKind::kString:
        if (!parse_string(parameter.value)) return false;
        break;
      case TokenKind::kIdentifier:
      case TokenKind::kInteger:
      case TokenKind::kTrue:
      case TokenKind::kFalse:
        parameter.value = std::string(text_of(token_));
        advance();
        break;
      default:
        return fail("a value: a string, a name, a number, true or false");
    }
    parameters.push_back(std::move(parameter));
  } while (accept(TokenKind::kComma));
  return expect(TokenKind::kRightParen, "`,` or `)`");
}

bool Parser::parse_lattice() {
  const Span start = token_.span;
  if (component_depth_ > 0) {
    sink_.error(start, "`.lattice` stands inside a component").hint =
        "it is meant for the whole program; move it out";
  }
  advance();
  LatticeSyntax lattice;
  if (!parse_qualified_name(lattice.type, "the type of the lattice") ||
      !expect(TokenKind::kLess, "`<>` behind the type") ||
      !expect(TokenKind::kGreater, "`<>` behind the type") ||
      !expect(TokenKind::kLeftBrace, "`{` and operators, as in `{ Lub -> @lub(_, _) }`"))
    return false;
  do {
    if (!parse_lattice_operator(lattice)) return false;
  } while (accept(TokenKind::kComma));
  lattice.span = cover(start, token_.span);
  if (!expect(TokenKind::kRightBrace, "`,` or `}`")) return false;
  program_.lattices.push_back(std::move(lattice));
  return true;
}

// Top and Leq may be said, as in Soufflé, which has no use for them.
bool Parser::parse_lattice_operator(LatticeSyntax& lattice) {
  NameSyntax name;
  Term term;
  if (!parse_name(name, "Bottom, Top, Lub, Glb or Leq") ||
      !expect(TokenKind::kArrow, "`->` and what it is") || !parse_term(term))
    return false;
  std::optional<Term> ignored;
  std::optional<Term>* place = nullptr;
  if (name.name == "Bottom") place = &lattice.bottom;
  if (name.name == "Lub") place = &lattice.lub;
  if (name.name == "Glb") place = &lattice.glb;
  if (name.name == "Top" || name.name == "Leq") place = &ignored;
  if (place == nullptr) {
    sink_.error(name.span, fmt::format("a lattice has no operator `{}`", name.name)).hint =
        "they are Bottom, Top, Lub, Glb and Leq";
  } else if (place->has_value()) {
    sink_.error(name.span, fmt::format("`{}` is given twice", name.name));
  } else {
    *place = std::move(term);
  }
  return true;
}

// .functor name(type, name: type): type [stateful]
bool Parser::parse_functor_declaration() {
  if (component_depth_ > 0) {
    sink_.error(token_.span, "`.functor` stands inside a component").hint =
        "it is meant for the whole program; move it out";
  }
  advance();
  FunctorSyntax functor;
  if (!parse_name(functor.name, "the name of a functor")) return false;
  functors_.insert(functor.name.name);
  if (parse_functor_types(functor)) {
    program_.functors.push_back(std::move(functor));
    return true;
  }
  program_.broken_functors.insert(functor.name.name);
  return false;
}

// What follows the name.
bool Parser::parse_functor_types(FunctorSyntax& functor) {
  if (!expect(TokenKind::kLeftParen, "`(` and types, as in `(number, text: symbol)`")) return false;
  if (!accept(TokenKind::kRightParen)) {
    do {
      NameSyntax& type = functor.arguments.emplace_back();
      if (!skip_annotations() || !parse_qualified_name(type, "the type of an argument"))
        return false;
      // What stands before a colon is a name for readers.
      if (accept(TokenKind::kColon) && !parse_qualified_name(type, "the type of an argument"))
        return false;
    } while (accept(TokenKind::kComma));
    if (!expect(TokenKind::kRightParen, "`,` or `)`")) return false;
  }
  if (!expect(TokenKind::kColon, "`:` and the type of the result") ||
      !parse_qualified_name(functor.result, "the type of the result"))
    return false;
  functor.is_stateful = accept(TokenKind::kStateful);
  return true;
}

bool Parser::parse_pragma() {
  if (component_depth_ > 0) {
    sink_.error(token_.span, "`.pragma` stands inside a component").hint =
        "it is meant for the whole program; move it out";
  }
  advance();
  PragmaSyntax pragma;
  pragma.key.span = token_.span;
  if (!is_at(TokenKind::kString)) return fail("the pragma's name in quotes");
  if (!parse_string(pragma.key.name)) return false;
  if (is_at(TokenKind::kString) && !parse_string(pragma.value)) return false;
  program_.pragmas.push_back(std::move(pragma));
  return true;
}

bool Parser::parse_small_number(std::uint64_t& number, std::string_view expected) {
  const std::string digits(text_of(token_));
  if (!expect(TokenKind::kInteger, expected)) return false;
  constexpr std::size_t kMostDigits = 18;  // more are out of every range
  number = 0;
  for (const char digit : digits.substr(0, kMostDigits))
    if (digit >= '0' && digit <= '9')
      number = (number * 10) + static_cast<std::uint64_t>(digit - '0');
  return true;
}

bool Parser::parse_plan_order(PlanOrderSyntax& order) {
  order.span = token_.span;
  if (!parse_small_number(order.version, "the number of a version, as in `.plan 0:(2,1)`"))
    return false;
  if (!expect(TokenKind::kColon, "`:`")) return false;
  if (!expect(TokenKind::kLeftParen, "`(` and the order of the atoms")) return false;
  if (!accept(TokenKind::kRightParen)) {
    do {
      if (!parse_small_number(order.atoms.emplace_back(), "the number of an atom")) return false;
    } while (accept(TokenKind::kComma));
    if (!expect(TokenKind::kRightParen, "`,` or `)`")) return false;
  }
  order.span.end = previous_.end;
  return true;
}

// .plan 0:(2,1), 1:(1,2)
bool Parser::parse_plan() {
  const Span start = token_.span;
  const bool follows_rule = !program_.rules.empty() && rule_end_ == previous_.end;
  advance();
  std::vector<PlanOrderSyntax> plan;
  do {
    if (!parse_plan_order(plan.emplace_back())) return false;
  } while (accept(TokenKind::kComma));
  if (follows_rule && program_.rules.back().body) {
    program_.rules.back().plan = std::move(plan);
    rule_end_ = 0;
  } else if (program_.is_complete) {
    sink_.error(start, "`.plan` belongs behind a rule").hint =
        follows_rule ? "a fact has nothing to join: leave `.plan` away"
                     : "write it after the `.` of its rule, once, as in `a(x) :- a(y), e(y,x). "
                       ".plan 0:(2,1)`; or leave it away";
  }
  return true;
}

}  // namespace stratalog::datalog::language
