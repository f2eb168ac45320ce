// SPDX-License-Identifier: Apache-2.0
#include "datalog/language/component_scopes.h"

#include <fmt/format.h>

#include <algorithm>

#include "datalog/language/spelling.h"

namespace stratalog::datalog::language {
namespace {

constexpr std::uint64_t kMaxSteps = 10'000'000;

const ComponentSyntax* named(const std::vector<ComponentSyntax>& components,
                             const std::string& name) {
  for (const ComponentSyntax& component : components) {
    if (component.name.name == name) return &component;
  }
  return nullptr;
}

bool has_parameter(const ComponentSyntax& component, const std::string& name) {
  return std::any_of(component.parameters.begin(), component.parameters.end(),
                     [&](const NameSyntax& parameter) { return parameter.name == name; });
}

class Checker {
 public:
  Checker(const ProgramSyntax& program, const ComponentScopes& scopes, DiagnosticSink& sink)
      : program_(program), scopes_(scopes), sink_(sink) {}

  void run() {
    check_names();
    check_content(program_, nullptr);
  }

 private:
  using Components = std::set<const ComponentSyntax*>;

  // At the top, components and instances share their names with types and relations.
  void check_names() {
    std::map<std::string, Span> names;
    for (const TypeSyntax& type : program_.types) names.emplace(type.name.name, type.name.span);
    for (const RelationSyntax& relation : program_.relations)
      names.emplace(relation.name.name, relation.name.span);
    const auto add = [&](const NameSyntax& name, std::string_view what) {
      const auto [entry, is_new] = names.emplace(name.name, name.span);
      if (is_new) return;
      sink_.error(name.span, fmt::format("the name `{}` of {} is taken", name.name, what))
          .notes.push_back({entry->second, "it is declared here"});
    };
    for (const ComponentSyntax& component : program_.components) add(component.name, "a component");
    for (const InstantiationSyntax& instantiation : program_.instantiations)
      add(instantiation.name, "an instance");
  }

  void check_content(const ProgramSyntax& content, const ComponentSyntax* scope) {
    for (const InstantiationSyntax& instantiation : content.instantiations)
      check_use(instantiation.component, scope, scope);
    for (std::size_t i = 0; i < content.components.size(); ++i) {
      const ComponentSyntax& component = content.components[i];
      const ComponentSyntax* first = named(content.components, component.name.name);
      if (scope != nullptr && first != &component) {
        sink_
            .error(component.name.span,
                   fmt::format("component `{}` is declared twice", component.name.name))
            .notes.push_back({first->name.span, "the first declaration is here"});
      }
      check_component(component, scope);
    }
  }

  void check_component(const ComponentSyntax& component, const ComponentSyntax* enclosing) {
    for (const ComponentUseSyntax& base : component.bases) check_use(base, enclosing, &component);
    Components parents;
    collect_parents(component, enclosing, parents);
    if (parents.contains(&component)) {
      sink_.error(component.name.span,
                  fmt::format("component `{}` extends itself", component.name.name));
    } else {
      check_overridden(component, parents);
    }
    check_content(*component.content, &component);
  }

  // `user`: the component whose parameters are unknown here; null at the top.
  void check_use(const ComponentUseSyntax& use, const ComponentSyntax* scope,
                 const ComponentSyntax* user) {
    const std::string& name = use.name.name;
    if (user != nullptr && has_parameter(*user, name)) return;  // known in each instance only
    const ComponentSyntax* component = scopes_.find(scope, name, {});
    if (component == nullptr) {
      std::vector<std::string> names;
      names.reserve(program_.components.size());
      for (const ComponentSyntax& other : program_.components) names.push_back(other.name.name);
      sink_.error(use.name.span, fmt::format("undeclared component `{}`", name)).hint =
          suggest(name, names);
      return;
    }
    const std::size_t wanted = component->parameters.size();
    if (wanted == use.arguments.size()) return;
    sink_
        .error(use.name.span, fmt::format("component `{}` has {} parameter{}, not {}", name, wanted,
                                          wanted == 1 ? "" : "s", use.arguments.size()))
        .notes.push_back({component->name.span, fmt::format("`{}` is declared here", name)});
  }

  void collect_parents(const ComponentSyntax& component, const ComponentSyntax* enclosing,
                       Components& parents) const {
    for (const ComponentUseSyntax& base : component.bases) {
      const ComponentSyntax* parent = scopes_.find(enclosing, base.name.name, {});
      if (parent == nullptr || !parents.insert(parent).second) continue;
      collect_parents(*parent, scopes_.enclosing(parent), parents);
    }
  }

  void check_overridden(const ComponentSyntax& component, const Components& parents) {
    for (const NameSyntax& name : component.content->overridden) {
      if (find_relation(component, name.name) != nullptr) {
        sink_.error(name.span, fmt::format("`{}` is not inherited but declared in `{}` itself",
                                           name.name, component.name.name));
        continue;
      }
      bool is_inherited = std::any_of(
          component.bases.begin(), component.bases.end(), [&](const ComponentUseSyntax& base) {
            return has_parameter(component, base.name.name);  // who knows
          });
      for (const ComponentSyntax* parent : parents) {
        const RelationSyntax* relation = find_relation(*parent, name.name);
        if (relation == nullptr) continue;
        is_inherited = true;
        if (is_overridable(*relation)) continue;
        DiagnosticDraft& draft = sink_.error(
            name.span, fmt::format("relation `{}` of component `{}` cannot be overridden",
                                   name.name, parent->name.name));
        draft.notes.push_back({relation->name.span, "it is declared here"});
        draft.hint = "write `overridable` behind its declaration";
      }
      if (is_inherited) continue;
      sink_.warning(name.span, fmt::format("`.override {}` has no effect: no such relation is "
                                           "inherited",
                                           name.name));
    }
  }

  static const RelationSyntax* find_relation(const ComponentSyntax& component,
                                             const std::string& name) {
    for (const RelationSyntax& relation : component.content->relations) {
      if (relation.name.name == name) return &relation;
    }
    return nullptr;
  }

  static bool is_overridable(const RelationSyntax& relation) {
    return std::any_of(relation.qualifiers.begin(), relation.qualifiers.end(),
                       [](const NameSyntax& name) { return name.name == "overridable"; });
  }

  const ProgramSyntax& program_;
  const ComponentScopes& scopes_;
  DiagnosticSink& sink_;
};

}  // namespace

void check_components(const ProgramSyntax& program, const ComponentScopes& scopes,
                      DiagnosticSink& sink) {
  Checker(program, scopes, sink).run();
}

const std::string& bound_name(const std::string& name, const ComponentBinding& binding) {
  const auto found = binding.find(name);
  return found == binding.end() ? name : found->second;
}

ComponentBinding bind_parameters(const ComponentSyntax& component,
                                 const std::vector<NameSyntax>& arguments,
                                 const ComponentBinding& outer) {
  ComponentBinding binding;
  for (std::size_t i = 0; i < component.parameters.size() && i < arguments.size(); ++i)
    binding[component.parameters[i].name] = bound_name(arguments[i].name, outer);
  return binding;
}

ComponentScopes::ComponentScopes(const ProgramSyntax& program) : program_(program) {
  add(program, nullptr);
}

void ComponentScopes::add(const ProgramSyntax& content, const ComponentSyntax* enclosing) {
  for (const ComponentSyntax& component : content.components) {
    enclosing_[&component] = enclosing;
    add(*component.content, &component);
  }
}

const ComponentSyntax* ComponentScopes::enclosing(const ComponentSyntax* component) const {
  const auto found = enclosing_.find(component);
  return found == enclosing_.end() ? nullptr : found->second;
}

const ComponentSyntax* ComponentScopes::find(const ComponentSyntax* scope, const std::string& name,
                                             const ComponentBinding& binding) const {
  Visited visited;
  return search(scope, name, binding, visited);
}

const ComponentSyntax* ComponentScopes::search(const ComponentSyntax* scope,
                                               const std::string& name,
                                               const ComponentBinding& binding,
                                               Visited& visited) const {
  const std::string& wanted = bound_name(name, binding);
  for (; scope != nullptr; scope = enclosing(scope)) {
    if (!visited.insert(scope).second || ++steps_ > kMaxSteps) continue;
    if (const ComponentSyntax* found = named(scope->content->components, wanted)) return found;
    for (const ComponentUseSyntax& base : scope->bases) {
      const ComponentSyntax* parent = find(enclosing(scope), base.name.name, binding);
      if (parent == nullptr || visited.contains(parent)) continue;
      if (const ComponentSyntax* found = search(parent, name, binding, visited)) return found;
    }
  }
  return named(program_.components, wanted);
}

}  // namespace stratalog::datalog::language
