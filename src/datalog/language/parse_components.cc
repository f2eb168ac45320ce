// SPDX-License-Identifier: Apache-2.0
// Components: .comp with its content, .init and .override; and annotations, which say something to
// other tools and nothing to us.
#include <fmt/format.h>

#include <utility>

#include "datalog/language/parser.h"

namespace stratalog::datalog::language {
namespace {

constexpr std::uint32_t kMaxComponentNesting = 50;

}  // namespace

// .comp Name<T, U> : Base<T>, Other { ... }
bool Parser::parse_component() {
  const Span start = token_.span;
  advance();
  ComponentUseSyntax head;
  if (!parse_component_use(head, "the name of the component")) return give_up_component();
  ComponentSyntax component;
  component.name = std::move(head.name);
  component.parameters = std::move(head.arguments);
  if (accept(TokenKind::kColon)) {
    do {
      ComponentUseSyntax base;
      if (!parse_component_use(base, "the component that it extends")) return give_up_component();
      component.bases.push_back(std::move(base));
    } while (accept(TokenKind::kComma) || accept(TokenKind::kColon));
  }
  if (!is_at(TokenKind::kLeftBrace)) {
    fail(component.bases.empty() ? "`:` and a component to extend, or `{`" : "`,` or `{`");
    return give_up_component();
  }
  if (component_depth_ == kMaxComponentNesting) {
    sink_.error(start, fmt::format("components nest deeper than {} levels", kMaxComponentNesting));
    skip_block();
    program_.has_unknown_names = true;
    return true;
  }
  advance();
  ProgramSyntax around = std::exchange(program_, {});
  ++component_depth_;
  parse_items(TokenKind::kRightBrace);
  --component_depth_;
  component.content = Boxed<ProgramSyntax>(std::exchange(program_, std::move(around)));
  program_.is_complete = program_.is_complete && component.content->is_complete;
  program_.has_unknown_names = program_.has_unknown_names || component.content->has_unknown_names;
  if (!accept(TokenKind::kRightBrace)) {
    sink_.error(
        component.name.span,
        fmt::format("the component `{}` is not closed; `}}` is missing", component.name.name));
    program_.is_complete = false;
  }
  program_.components.push_back(std::move(component));
  return true;
}

// After an error in the head of a component: its content is skipped, as its names mean nothing
// outside of it.
bool Parser::give_up_component() {
  program_.has_unknown_names = true;
  while (!is_at(TokenKind::kLeftBrace)) {
    if (is_at(TokenKind::kEnd) || is_directive(token_.kind)) return false;
    advance();
  }
  skip_block();
  program_.is_complete = false;
  return true;
}

// Name or Name<A, B>
bool Parser::parse_component_use(ComponentUseSyntax& use, std::string_view expected) {
  if (!parse_name(use.name, expected)) return false;
  if (!accept(TokenKind::kLess)) return true;
  do {
    if (!parse_qualified_name(use.arguments.emplace_back(), "a type, or a component")) return false;
  } while (accept(TokenKind::kComma));
  return expect(TokenKind::kGreater, "`,` or `>`");
}

// .init name = Component<A, B>
bool Parser::parse_instantiation() {
  InstantiationSyntax instantiation;
  const Span start = token_.span;
  advance();
  if (!parse_name(instantiation.name, "the name of the instance") ||
      !expect(TokenKind::kEqual, "`=` and a component") ||
      !parse_component_use(instantiation.component, "a component")) {
    program_.has_unknown_names = true;
    return false;
  }
  instantiation.span = {start.begin, previous_.end};
  program_.instantiations.push_back(std::move(instantiation));
  return true;
}

// .override name
bool Parser::parse_override() {
  const Span start = token_.span;
  advance();
  NameSyntax name;
  if (!parse_name(name, "the name of an inherited relation")) return false;
  if (component_depth_ == 0) {
    sink_.error(start, "`.override` stands outside of a component").hint =
        "it drops the rules that a component inherits for a relation";
    return true;
  }
  program_.overridden.push_back(std::move(name));
  return true;
}

// @[...] and @![...]: any tokens, with balanced brackets.
bool Parser::skip_annotation() {
  const Span start = token_.span;
  advance();
  if (!is_at(TokenKind::kLeftBracket)) return fail("`[` and an annotation");
  std::uint32_t depth = 0;
  do {
    if (is_at(TokenKind::kEnd)) {
      sink_.error(start, "this annotation is not closed; `]` is missing");
      return false;
    }
    if (is_at(TokenKind::kBad)) return fail({});
    if (is_at(TokenKind::kLeftBracket)) ++depth;
    if (is_at(TokenKind::kRightBracket)) --depth;
    advance();
  } while (depth > 0);
  return true;
}

bool Parser::skip_annotations() {
  while (is_at(TokenKind::kAt)) {
    if (!skip_annotation()) return false;
  }
  return true;
}

bool Parser::skip_inner_annotations() {
  while (is_at(TokenKind::kAtNot)) {
    if (!skip_annotation()) return false;
  }
  return true;
}

}  // namespace stratalog::datalog::language
