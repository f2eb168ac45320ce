// SPDX-License-Identifier: Apache-2.0
#include "datalog/language/declarations.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "datalog/language/component_instantiation.h"
#include "datalog/language/io_parameters.h"
#include "datalog/language/spelling.h"

namespace stratalog::datalog::language {
namespace {

class Resolver {
 public:
  Resolver(const ProgramSyntax& syntax, const TypeTable& types, DiagnosticSink& sink)
      : syntax_(syntax), types_(types), sink_(sink) {}

  Declarations run() {
    result_.broken = syntax_.broken_relations;
    result_.broken_functors = syntax_.broken_functors;
    result_.has_unknown_names = syntax_.has_unknown_names;
    result_.structures = &types_.structures();
    for (const FunctorSyntax& functor : syntax_.functors) declare(functor);
    for (const RelationSyntax& relation : syntax_.relations) {
      sink_.set_origin(instance_notes(syntax_, relation.instance));
      declare(relation);
    }
    for (const DirectiveSyntax& directive : syntax_.directives) {
      sink_.set_origin(instance_notes(syntax_, directive.instance));
      attach(directive);
    }
    for (const SizeLimitSyntax& size_limit : syntax_.size_limits) {
      sink_.set_origin(instance_notes(syntax_, size_limit.instance));
      limit(size_limit);
    }
    sink_.set_origin(nullptr);
    return std::move(result_);
  }

 private:
  void declare(const FunctorSyntax& syntax) {
    const std::string& name = syntax.name.name;
    for (const DeclaredFunctor& other : result_.functors) {
      if (other.functor.name != name) continue;
      sink_.error(syntax.name.span, fmt::format("functor `@{}` is declared twice", name))
          .notes.push_back({other.span, "the first declaration is here"});
      return;
    }
    DeclaredFunctor declared;
    declared.functor.name = name;
    declared.functor.is_stateful = syntax.is_stateful;
    declared.span = syntax.name.span;
    bool is_good = true;
    for (const NameSyntax& type : syntax.arguments) {
      const std::optional<ExternalType> known = external_type(type, syntax.is_stateful);
      declared.functor.arguments.push_back(known.value_or(ExternalType()));
      is_good = is_good && known.has_value();
    }
    const std::optional<ExternalType> result = external_type(syntax.result, syntax.is_stateful);
    declared.functor.result = result.value_or(ExternalType());
    if (is_good && result.has_value())
      result_.functors.push_back(std::move(declared));
    else
      result_.broken_functors.insert(name);
  }

  // Nothing, reported, for types that a function of a library cannot have.
  std::optional<ExternalType> external_type(const NameSyntax& type, bool is_stateful) {
    const std::optional<ValueKind> kind = types_.kind_of(type.name);
    if (!kind.has_value()) {
      types_.report_unknown(type, sink_);
      return std::nullopt;
    }
    const StructureId structure = types_.structures().of(type.name);
    if (structure == kNoStructure || is_stateful)
      return ExternalType{.kind = *kind, .structure = structure};
    sink_
        .error(type.span,
               fmt::format("only `stateful` functors take and give values of type `{}`", type.name))
        .hint = "others have number, unsigned, float, symbol and their subtypes";
    return std::nullopt;
  }

  void declare(const RelationSyntax& syntax) {
    const std::string& name = syntax.name.name;
    const auto [entry, is_new] =
        result_.ids.emplace(name, static_cast<RelationId>(result_.relations.size()));
    if (!is_new) {
      sink_.error(syntax.name.span, fmt::format("relation `{}` is declared twice", name))
          .notes.push_back({result_.spans[entry->second], "the first declaration is here"});
      return;
    }
    check_width(syntax);
    Relation relation;
    relation.name = name;
    std::vector<Span> attribute_spans;
    std::map<std::string, Span> seen;
    for (const AttributeSyntax& syntax_attribute : syntax.attributes) {
      Attribute attribute;
      attribute.name = syntax_attribute.name.name;
      attribute.type_name = syntax_attribute.type.name;
      const auto [first, is_first] = seen.emplace(attribute.name, syntax_attribute.name.span);
      if (!is_first) {
        sink_
            .error(syntax_attribute.name.span,
                   fmt::format("attribute `{}` of `{}` is declared twice", attribute.name, name))
            .notes.push_back({first->second, "the first one is here"});
      }
      const std::optional<ValueKind> kind = types_.kind_of(attribute.type_name);
      if (kind.has_value()) {
        attribute.kind = *kind;
        attribute.structure = types_.structures().of(attribute.type_name);
      } else {
        // A qualified name comes out of a component, and those were reported.
        const bool is_qualified = attribute.type_name.find('.') != std::string::npos;
        if (!is_qualified || !syntax_.has_unknown_names)
          types_.report_unknown(syntax_attribute.type, sink_);
        result_.broken.insert(name);
      }
      relation.attributes.push_back(std::move(attribute));
      attribute_spans.push_back(cover(syntax_attribute.name.span, syntax_attribute.type.span));
    }
    for (const NameSyntax& qualifier : syntax.qualifiers) {
      relation.qualifiers.push_back(qualifier.name);
      if (qualifier.name == "eqrel") check_equivalence(relation, qualifier);
    }
    for (const ChoiceKeySyntax& key : syntax.choice_keys) add_choice_key(key, relation);
    result_.relations.push_back(std::move(relation));
    result_.spans.push_back(syntax.name.span);
    result_.attribute_spans.push_back(std::move(attribute_spans));
    result_.io_spans.emplace_back();
    result_.names.push_back(name);
  }

  void check_width(const RelationSyntax& syntax) {
    if (syntax.attributes.size() <= kMaxArity) return;
    const std::string& name = syntax.name.name;
    // Those that the compiler makes have a name with `#`, and the place of what needs them.
    const std::string what = name.find('#') == std::string::npos
                                 ? fmt::format("relation `{}`", name)
                                 : "the relation that this aggregate needs";
    sink_
        .error(syntax.name.span, fmt::format("{} has {} columns, at most {} are supported", what,
                                             syntax.attributes.size(), kMaxArity))
        .hint = "records hold several values in one column";
  }

  void add_choice_key(const ChoiceKeySyntax& syntax, Relation& relation) {
    std::set<std::uint32_t> columns;
    for (const NameSyntax& name : syntax.attributes) {
      const auto at =
          std::find_if(relation.attributes.begin(), relation.attributes.end(),
                       [&](const Attribute& attribute) { return attribute.name == name.name; });
      if (at == relation.attributes.end()) {
        std::vector<std::string> names;
        names.reserve(relation.attributes.size());
        for (const Attribute& attribute : relation.attributes) names.push_back(attribute.name);
        sink_
            .error(name.span,
                   fmt::format("`{}` has no attribute `{}` to choose by", relation.name, name.name))
            .hint = suggest(name.name, names);
        return;
      }
      columns.insert(static_cast<std::uint32_t>(at - relation.attributes.begin()));
    }
    std::vector<std::uint32_t> key(columns.begin(), columns.end());
    auto& keys = relation.choice_keys;
    if (std::find(keys.begin(), keys.end(), key) == keys.end()) keys.push_back(std::move(key));
  }

  void limit(const SizeLimitSyntax& syntax) {
    const auto found = result_.ids.find(syntax.relation.name);
    if (found == result_.ids.end()) {
      if (result_.broken.contains(syntax.relation.name) || syntax_.has_unknown_names) return;
      sink_
          .error(syntax.relation.span,
                 fmt::format("undeclared relation `{}`", syntax.relation.name))
          .hint = suggest(syntax.relation.name, result_.names);
      return;
    }
    const auto [first, is_first] = limited_.emplace(found->second, syntax.relation.span);
    if (!is_first) {
      sink_
          .error(syntax.relation.span,
                 fmt::format("`.limitsize {}` is given twice", syntax.relation.name))
          .notes.push_back({first->second, "the first one is here"});
    }
    result_.relations[found->second].size_limit = syntax.count;
  }

  void check_equivalence(const Relation& relation, const NameSyntax& qualifier) {
    if (relation.attributes.size() != 2) {
      sink_
          .error(qualifier.span, fmt::format("the equivalence relation `{}` has {} attribute{}",
                                             relation.name, relation.attributes.size(),
                                             relation.attributes.size() == 1 ? "" : "s"))
          .expected = "two attributes of the same type";
      result_.broken.insert(relation.name);
    } else if (relation.attributes[0].type_name != relation.attributes[1].type_name) {
      sink_
          .error(
              qualifier.span,
              fmt::format("the equivalence relation `{}` has attributes of the types `{}` and `{}`",
                          relation.name, relation.attributes[0].type_name,
                          relation.attributes[1].type_name))
          .expected = "two attributes of the same type";
    }
  }

  void attach(const DirectiveSyntax& syntax) {
    check_io_parameters(syntax, sink_);
    for (const NameSyntax& name : syntax.relations) {
      const auto found = result_.ids.find(name.name);
      if (found == result_.ids.end()) {
        if (result_.broken.contains(name.name) || syntax_.has_unknown_names) continue;
        sink_.error(name.span, fmt::format("undeclared relation `{}`", name.name)).hint =
            suggest(name.name, result_.names);
        continue;
      }
      if (syntax.action == IoAction::kPrintSize) {
        const auto [first, is_first] = printed_.emplace(found->second, name.span);
        if (!is_first) {
          sink_.error(name.span, fmt::format("`.printsize {}` is given twice", name.name))
              .notes.push_back({first->second, "the first one is here"});
        }
      }
      IoDirective directive;
      directive.action = syntax.action;
      for (const ParameterSyntax& parameter : syntax.parameters) {
        directive.parameters[parameter.key.name] = parameter.value;
        // Another way to write .printsize.
        if (syntax.action == IoAction::kOutput && parameter.key.name == "IO" &&
            parameter.value == "stdoutprintsize")
          directive.action = IoAction::kPrintSize;
      }
      result_.relations[found->second].io.push_back(std::move(directive));
      result_.io_spans[found->second].push_back(name.span);
    }
  }

  const ProgramSyntax& syntax_;
  const TypeTable& types_;
  DiagnosticSink& sink_;
  Declarations result_;
  std::map<RelationId, Span> printed_;  // where .printsize was seen
  std::map<RelationId, Span> limited_;  // where .limitsize was seen
};

}  // namespace

RelationId add_made_relation(std::string_view name, Span span, Declarations& declarations) {
  const auto id = static_cast<RelationId>(declarations.relations.size());
  Relation relation;
  relation.name = fmt::format("{}#{}", name, id);
  declarations.ids.emplace(relation.name, id);
  declarations.relations.push_back(std::move(relation));
  declarations.spans.push_back(span);
  declarations.attribute_spans.emplace_back();
  declarations.io_spans.emplace_back();
  return id;
}

RelationId add_made_part(RelationId of, Declarations& declarations) {
  const RelationId made =
      add_made_relation(declarations.relations[of].name, declarations.spans[of], declarations);
  declarations.relations[made].attributes = declarations.relations[of].attributes;
  declarations.attribute_spans[made] = declarations.attribute_spans[of];
  return made;
}

Declarations resolve_declarations(const ProgramSyntax& syntax, const TypeTable& types,
                                  DiagnosticSink& sink) {
  return Resolver(syntax, types, sink).run();
}

Declarations without(const Declarations& declarations, const std::set<std::string>& names) {
  if (names.empty()) return declarations;
  Declarations result;
  result.functors = declarations.functors;
  result.broken_functors = declarations.broken_functors;
  result.structures = declarations.structures;
  result.broken = declarations.broken;
  result.has_unknown_names = declarations.has_unknown_names;
  for (RelationId id = 0; id < declarations.relations.size(); ++id) {
    const Relation& relation = declarations.relations[id];
    if (names.contains(relation.name)) continue;
    result.ids.emplace(relation.name, static_cast<RelationId>(result.relations.size()));
    result.relations.push_back(relation);
    result.spans.push_back(declarations.spans[id]);
    result.attribute_spans.push_back(declarations.attribute_spans[id]);
    result.io_spans.push_back(declarations.io_spans[id]);
    result.names.push_back(relation.name);
  }
  return result;
}

}  // namespace stratalog::datalog::language
