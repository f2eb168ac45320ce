// SPDX-License-Identifier: Apache-2.0
#include "datalog/language/component_instantiation.h"

#include <fmt/format.h>

#include <iterator>
#include <utility>

#include "datalog/language/component_scopes.h"
#include "datalog/language/syntax_walk.h"

namespace stratalog::datalog::language {
namespace {

constexpr std::uint32_t kMaxInstanceDepth = 100;
// Of copied text, in units of 64 bytes and one for each piece: bounds the memory.
constexpr std::uint64_t kMaxCopiedText = 1U << 21U;
constexpr std::size_t kMaxOriginNotes = 4;

using Renaming = std::map<std::string, std::string>;  // old to new

// What an instance adds to its surroundings. Names are those of the instance's inside until it is
// finished.
struct Content {
  std::vector<TypeSyntax> types;
  std::vector<RelationSyntax> relations;
  std::vector<DirectiveSyntax> directives;
  std::vector<SizeLimitSyntax> size_limits;
  std::vector<RuleSyntax> rules;
  std::set<std::string> broken_relations;
  std::set<std::string> broken_types;
};

template <typename T>
void append(std::vector<T>& to, std::vector<T>&& from) {
  std::move(from.begin(), from.end(), std::back_inserter(to));
}

void append(Content& to, Content&& from) {
  append(to.types, std::move(from.types));
  append(to.relations, std::move(from.relations));
  append(to.directives, std::move(from.directives));
  append(to.size_limits, std::move(from.size_limits));
  append(to.rules, std::move(from.rules));
  to.broken_relations.merge(from.broken_relations);
  to.broken_types.merge(from.broken_types);
}

void rename(NameSyntax& name, const Renaming& names) {
  const auto found = names.find(name.name);
  if (found != names.end()) name.name = found->second;
}

void rename_types(TypeSyntax& type, const Renaming& names) {
  for (NameSyntax& member : type.members) rename(member, names);
  for (BranchSyntax& branch : type.branches)
    for (AttributeSyntax& field : branch.fields) rename(field.type, names);
}

void rename_types(RelationSyntax& relation, const Renaming& names) {
  for (AttributeSyntax& attribute : relation.attributes) rename(attribute.type, names);
}

void rename_all(RuleSyntax& rule, const Renaming& types, const Renaming& branches,
                const Renaming& relations) {
  walk(
      rule,
      [&](Term& term) {
        if (term.kind == TermKind::kCast) rename(term.type, types);
        if (term.kind == TermKind::kBranch) rename(term.type, branches);
      },
      [&](AtomSyntax& atom) { rename(atom.relation, relations); });
}

std::string first_part(const std::string& name) { return name.substr(0, name.find('.')); }

class Instantiator {
 public:
  Instantiator(ProgramSyntax& program, const ComponentScopes& scopes, DiagnosticSink& sink)
      : program_(program), scopes_(scopes), sink_(sink) {}

  void run() {
    const std::vector<InstantiationSyntax>& all = program_.instantiations;
    Content result;
    for (std::size_t i = 0; i < all.size() && !failed_; ++i) {
      orphans_.clear();
      append(result, instantiate(all[i], nullptr, {}, {}, kNoInstance, kMaxInstanceDepth));
      append(result.rules, std::move(orphans_));
    }
    if (failed_) {
      program_.has_unknown_names = true;
      program_.is_complete = false;
      return;
    }
    append(program_.types, std::move(result.types));
    append(program_.relations, std::move(result.relations));
    append(program_.directives, std::move(result.directives));
    append(program_.size_limits, std::move(result.size_limits));
    append(program_.rules, std::move(result.rules));
    program_.broken_relations.merge(result.broken_relations);
    program_.broken_types.merge(result.broken_types);
  }

 private:
  using NameSet = std::set<std::string>;

  Content instantiate(const InstantiationSyntax& init, const ComponentSyntax* scope,
                      const ComponentBinding& binding, const NameSet& overridden,
                      InstanceNumber parent, std::uint32_t depth) {
    Content content;
    const ComponentSyntax* component = scopes_.find(scope, init.component.name.name, binding);
    if (!may_instantiate(init, component, binding, parent, depth)) return content;
    const InstanceNumber outer = std::exchange(instance_, add_instance(init, *component, parent));
    const ComponentBinding inner = bind_parameters(*component, init.component.arguments, binding);
    add_nested(*component, inner, overridden, depth, content);
    collect(*component, inner, overridden, depth, content);
    qualify(init.name.name, content);
    instance_ = outer;
    return content;
  }

  bool may_instantiate(const InstantiationSyntax& init, const ComponentSyntax* component,
                       const ComponentBinding& binding, InstanceNumber parent,
                       std::uint32_t depth) {
    if (failed_) return false;
    if (component == nullptr || component->parameters.size() != init.component.arguments.size()) {
      // Only where a parameter names the component; the rest was checked beforehand.
      failed_ = true;
      sink_.set_origin(instance_notes(program_, parent));
      const std::string& written = init.component.name.name;
      const std::string& meant = bound_name(written, binding);
      const std::string given = written == meant ? "" : fmt::format(", given for `{}`", written);
      if (component == nullptr) {
        sink_.error(init.component.name.span,
                    fmt::format("undeclared component `{}`{}", meant, given));
      } else {
        const std::size_t wanted = component->parameters.size();
        sink_.error(init.component.name.span,
                    fmt::format("component `{}`{} has {} parameter{}, not {}", meant, given, wanted,
                                wanted == 1 ? "" : "s", init.component.arguments.size()));
      }
      sink_.set_origin(nullptr);
      return false;
    }
    if (depth > 0) return count(init.span);
    report_depth(init.span, *component);
    return false;
  }

  void report_depth(Span span, const ComponentSyntax& component) {
    if (failed_) return;
    failed_ = true;
    sink_.error(span, fmt::format("instances nest deeper than {} levels", kMaxInstanceDepth)).hint =
        fmt::format("does `{}` use itself?", component.name.name);
  }

  // False once too much was copied.
  bool count(Span span) {
    copied_ += 1 + (span.end - span.begin) / 64;
    if (copied_ <= kMaxCopiedText) return true;
    if (!failed_) {
      sink_.error(span, "the instances of components are too many or too large").hint =
          "do components instantiate each other many times over?";
    }
    failed_ = true;
    return false;
  }

  InstanceNumber add_instance(const InstantiationSyntax& init, const ComponentSyntax& component,
                              InstanceNumber parent) {
    std::string name = init.name.name;
    if (parent != kNoInstance) name = program_.instances[parent - 1].name + '.' + name;
    program_.instances.push_back({std::move(name), component.name.name, init.span, parent});
    return static_cast<InstanceNumber>(program_.instances.size());
  }

  void add_nested(const ComponentSyntax& component, const ComponentBinding& binding,
                  const NameSet& overridden, std::uint32_t depth, Content& content) {
    for (const InstantiationSyntax& init : component.content->instantiations) {
      append(content, instantiate(init, &component, binding, overridden, instance_, depth - 1));
    }
  }

  // Copies what `component` and the components that it extends declare.
  void collect(const ComponentSyntax& component, const ComponentBinding& binding,
               const NameSet& overridden, std::uint32_t depth, Content& content) {
    NameSet overridden_in_bases = overridden;
    for (const NameSyntax& name : component.content->overridden)
      overridden_in_bases.insert(name.name);
    const ComponentSyntax* scope = scopes_.enclosing(&component);
    for (const ComponentUseSyntax& base : component.bases) {
      const ComponentSyntax* parent = scopes_.find(scope, base.name.name, binding);
      if (parent == nullptr || !count(base.name.span)) continue;
      const ComponentBinding inner = bind_parameters(*parent, base.arguments, binding);
      add_nested(*parent, inner, {}, depth, content);
      if (depth == 0) {
        report_depth(base.name.span, *parent);
        return;
      }
      collect(*parent, inner, overridden_in_bases, depth - 1, content);
    }
    const ProgramSyntax& own = *component.content;
    // A type of the component's own goes before a parameter of the same name.
    ComponentBinding inside = binding;
    for (const TypeSyntax& type : own.types) inside.erase(type.name.name);
    for (const TypeSyntax& type : own.types) {
      if (!count(type.name.span)) return;
      rename_types(content.types.emplace_back(type), inside);
      content.types.back().instance = instance_;
    }
    for (const RelationSyntax& relation : own.relations) {
      if (!count(relation.name.span)) return;
      rename_types(content.relations.emplace_back(relation), inside);
      content.relations.back().instance = instance_;
    }
    for (const DirectiveSyntax& directive : own.directives) {
      if (!count(directive.span)) return;
      content.directives.emplace_back(directive).instance = instance_;
    }
    for (const SizeLimitSyntax& limit : own.size_limits)
      content.size_limits.emplace_back(limit).instance = instance_;
    content.broken_relations.insert(own.broken_relations.begin(), own.broken_relations.end());
    content.broken_types.insert(own.broken_types.begin(), own.broken_types.end());
    collect_rules(own.rules, inside, overridden, content);
  }

  // A rule whose relation is declared here belongs here; others wait for the surroundings.
  void collect_rules(const std::vector<RuleSyntax>& rules, const ComponentBinding& binding,
                     const NameSet& overridden, Content& content) {
    NameSet declared = content.broken_relations;
    for (const RelationSyntax& relation : content.relations) declared.insert(relation.name.name);
    for (const RuleSyntax& rule : rules) {
      if (!count(rule.span)) return;
      RuleSyntax copy = rule;
      copy.instance = instance_;
      rename_all(copy, binding, binding, {});
      std::erase_if(copy.heads, [&](const AtomSyntax& head) {
        return overridden.contains(first_part(head.relation.name));
      });
      place_rule(std::move(copy), declared, content);
    }
    std::vector<RuleSyntax> waiting = std::exchange(orphans_, {});
    for (RuleSyntax& rule : waiting) place_rule(std::move(rule), declared, content);
  }

  void place_rule(RuleSyntax rule, const NameSet& declared, Content& content) {
    const auto is_foreign = [&](const AtomSyntax& head) {
      return !declared.contains(head.relation.name);
    };
    RuleSyntax foreign = rule;
    std::erase_if(rule.heads, is_foreign);
    std::erase_if(foreign.heads, [&](const AtomSyntax& head) { return !is_foreign(head); });
    if (!rule.heads.empty()) content.rules.push_back(std::move(rule));
    if (!foreign.heads.empty()) orphans_.push_back(std::move(foreign));
  }

  // Puts the instance's name before every name that the content declares, wherever it stands.
  void qualify(const std::string& instance, Content& content) {
    Renaming types;
    Renaming branches;
    Renaming relations;
    const auto qualified = [&](const std::string& name) { return instance + '.' + name; };
    for (TypeSyntax& type : content.types) {
      const std::string name = qualified(type.name.name);
      types[type.name.name] = name;
      type.name.name = name;
      for (BranchSyntax& branch : type.branches) {
        if (branch.name.name.empty()) continue;
        const std::string branch_name = qualified(branch.name.name);
        branches[branch.name.name] = branch_name;
        branch.name.name = branch_name;
      }
    }
    for (RelationSyntax& relation : content.relations) {
      const std::string name = qualified(relation.name.name);
      relations[relation.name.name] = name;
      relation.name.name = name;
    }
    content.broken_relations = qualify(content.broken_relations, relations, instance);
    content.broken_types = qualify(content.broken_types, types, instance);
    for (TypeSyntax& type : content.types) rename_types(type, types);
    for (RelationSyntax& relation : content.relations) {
      rename_types(relation, types);
      if (relation.delta_of) rename(*relation.delta_of, relations);
    }
    for (SizeLimitSyntax& limit : content.size_limits) rename(limit.relation, relations);
    for (DirectiveSyntax& directive : content.directives) {
      for (NameSyntax& name : directive.relations) rename(name, relations);
    }
    for (RuleSyntax& rule : content.rules) rename_all(rule, types, branches, relations);
    for (RuleSyntax& rule : orphans_) rename_all(rule, types, branches, relations);
  }

  static NameSet qualify(const NameSet& broken, Renaming& names, const std::string& instance) {
    NameSet result;
    for (const std::string& name : broken)
      result.insert(names.emplace(name, fmt::format("{}.{}", instance, name)).first->second);
    return result;
  }

  ProgramSyntax& program_;
  const ComponentScopes& scopes_;
  DiagnosticSink& sink_;
  std::vector<RuleSyntax> orphans_;  // rules for relations that are not declared so far
  InstanceNumber instance_ = kNoInstance;
  std::uint64_t copied_ = 0;
  bool failed_ = false;
};

}  // namespace

void instantiate_components(ProgramSyntax& program, DiagnosticSink& sink) {
  if (!program.components.empty() || !program.instantiations.empty()) {
    const ComponentScopes scopes(program);
    const std::size_t errors = sink.error_count();
    check_components(program, scopes, sink);
    if (sink.error_count() == errors) {
      Instantiator(program, scopes, sink).run();
    } else {
      program.has_unknown_names = true;
      program.is_complete = false;
    }
  }
  program.components.clear();
  program.instantiations.clear();
}

std::shared_ptr<const std::vector<NoteDraft>> instance_notes(const ProgramSyntax& program,
                                                             InstanceNumber instance) {
  if (instance == kNoInstance) return nullptr;
  auto notes = std::make_shared<std::vector<NoteDraft>>();
  while (instance != kNoInstance && notes->size() < kMaxOriginNotes) {
    const InstanceSyntax& made = program.instances[instance - 1];
    notes->push_back({made.span, fmt::format("in the instance `{}` of component `{}`, made here",
                                             made.name, made.component)});
    instance = made.parent;
  }
  return notes;
}

}  // namespace stratalog::datalog::language
