// SPDX-License-Identifier: Apache-2.0
// Parser: recursive descent over the tokens, one clause or directive at a time. After an error it
// goes on at the next clause, so that all errors of a file come out in one run. Parsing functions
// return false after they reported; their caller gives up the clause. Depth is bounded, hence no
// input can exhaust the stack. Local.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "datalog/language/diagnostic_sink.h"
#include "datalog/language/lexer.h"
#include "datalog/language/syntax.h"

namespace stratalog::datalog::language {

// Parentheses, unary operators and aggregates may nest this deep.
inline constexpr std::uint32_t kMaxNesting = 200;
// A chain of operators that group to the left may be this long: it is parsed in a loop, so that the
// limit is for those who walk the tree it makes.
inline constexpr std::uint32_t kMaxTermDepth = 1000;

class Parser {
 public:
  Parser(std::string_view text, DiagnosticSink& sink) : lexer_(text), sink_(sink) { advance(); }

  ProgramSyntax parse();

 private:
  // parser.cc: the clause loop, recovery and small pieces
  // Items up to `end` or the end of the file, whatever is wrong with some of them.
  void parse_items(TokenKind end);
  bool parse_item();
  // `braces`: how many are open where the items stand.
  void recover(std::uint32_t braces);
  void skip_block();
  void advance();
  bool accept(TokenKind kind);
  bool expect(TokenKind kind, std::string_view expected);
  // Reports "unexpected X" (or the lexer's own problem) at the current token; always false.
  bool fail(std::string_view expected, std::string hint = {});
  bool not_supported(Span span, std::string_view feature, std::string hint = {});
  bool parse_name(NameSyntax& name, std::string_view expected);
  bool parse_qualified_name(NameSyntax& name, std::string_view expected);
  std::string_view text_of(const Token& token) const { return lexer_.text_of(token.span); }
  std::string describe(const Token& token) const;
  Token peek_after() const;
  bool is_at(TokenKind kind) const { return token_.kind == kind; }

  // parse_declarations.cc
  bool parse_relations();
  bool parse_attributes(std::vector<AttributeSyntax>& attributes);
  void parse_qualifiers(std::vector<NameSyntax>& qualifiers);
  bool report_unknown_qualifier();
  bool parse_choice_keys(std::vector<ChoiceKeySyntax>& keys);
  bool parse_debug_delta(NameSyntax name);
  bool parse_size_limit();
  bool parse_type();
  bool parse_annotated_branches(TypeSyntax type);
  bool parse_legacy_type(std::string_view base);
  bool parse_io(IoAction action);
  bool parse_parameters(std::vector<ParameterSyntax>& parameters);
  bool parse_pragma();
  bool parse_functor_declaration();
  bool parse_functor_types(FunctorSyntax& functor);
  bool parse_lattice();
  bool parse_lattice_operator(LatticeSyntax& lattice);
  bool parse_plan();
  bool parse_plan_order(PlanOrderSyntax& order);
  bool parse_small_number(std::uint64_t& number, std::string_view expected);
  bool parse_unsupported_item();
  bool report_unknown_directive();

  // parse_components.cc
  bool parse_component();
  bool give_up_component();
  bool parse_component_use(ComponentUseSyntax& use, std::string_view expected);
  bool parse_instantiation();
  bool parse_override();
  bool skip_annotation();
  bool skip_annotations();
  bool skip_inner_annotations();

  // parse_rules.cc
  bool parse_clause();
  bool parse_subsumption(RuleSyntax& rule);
  bool parse_atom(AtomSyntax& atom);
  bool parse_disjunction(Formula& formula);
  bool parse_conjunction(Formula& formula);
  bool parse_literal(Formula& formula);
  bool parse_comparison(Formula& formula);
  bool parse_text_constraint(Formula& formula);
  bool is_qualified_atom() const;
  bool follows_on_line(Span before, Span after) const;
  bool is_parenthesised_term() const;
  bool report_missing_dot();

  // parse_records.cc
  bool parse_record_type(TypeSyntax& type);
  bool parse_branches(TypeSyntax& type, NameSyntax branch);
  bool parse_fields(std::vector<AttributeSyntax>& fields);
  bool parse_record_term(Term& term);

  // parse_terms.cc and, for aggregates, parse_aggregates.cc
  bool parse_term(Term& term, int minimum_level = 0);
  bool parse_unary(Term& term);
  bool parse_primary(Term& term);
  bool parse_string(std::string& characters);
  bool parse_arguments(std::vector<Term>& arguments);
  bool parse_listed_arguments(std::vector<Term>& arguments, TokenKind end,
                              std::string_view expected);
  bool parse_functor_call(Term& term);
  bool parse_cast(Term& term);
  bool parse_external_call(Term& term);
  bool parse_iteration_count(Term& term);
  bool parse_counter(Term& term);
  bool parse_aggregate_or_extremum(Term& term);
  bool parse_fold(Span start, Term& term);
  bool finish_aggregate(AggregateFunction function, Span start, Term& term,
                        std::optional<Term> target);
  bool parse_aggregate_rest(AggregateFunction function, Span start, Term& term,
                            std::optional<Term> target);
  bool check_depth(const Term& term);
  bool finish_functor(Term& term, Functor functor, std::vector<Term> arguments, Span span);
  bool continue_term(Term& left, int minimum_level);
  // After an aggregate's or a functor's name these tokens show that it was meant as a variable.
  bool ends_a_term() const;
  bool report_reserved_word(const Token& word, std::string_view usage);

  // Counts one level of nesting while it lives; ok() is false (and reported) past the limit.
  class Nesting {
   public:
    explicit Nesting(Parser& parser);
    ~Nesting() { --parser_.nesting_; }
    Nesting(const Nesting&) = delete;
    Nesting& operator=(const Nesting&) = delete;
    bool ok() const { return ok_; }

   private:
    Parser& parser_;
    bool ok_;
  };

  Lexer lexer_;
  DiagnosticSink& sink_;
  ProgramSyntax program_;
  Token token_;
  Span previous_;  // of the token before token_
  std::uint32_t rule_end_ = 0;  // of the last rule that was read; `.plan` may follow
  std::uint32_t nesting_ = 0;
  std::uint32_t braces_ = 0;  // that are open before token_
  std::uint32_t component_depth_ = 0;
  std::set<std::string> functors_;  // that .functor has declared so far
};

}  // namespace stratalog::datalog::language
