// SPDX-License-Identifier: Apache-2.0
// Which component a name means: components nest, inherit from each other and take others as
// parameters. Knows scopes only; copies nothing. The program outlives it and does not change
// meanwhile. Local.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "datalog/language/diagnostic_sink.h"
#include "datalog/language/syntax.h"

namespace stratalog::datalog::language {

// What the parameters of a component stand for in one instance.
using ComponentBinding = std::map<std::string, std::string>;

// The binding inside a component that is used with `arguments` where `outer` holds.
ComponentBinding bind_parameters(const ComponentSyntax& component,
                                 const std::vector<NameSyntax>& arguments,
                                 const ComponentBinding& outer);

const std::string& bound_name(const std::string& name, const ComponentBinding& binding);

class ComponentScopes {
 public:
  explicit ComponentScopes(const ProgramSyntax& program);

  // Looks in `scope` (null: the whole program), in the components that it extends, and outwards.
  // Null if there is none.
  const ComponentSyntax* find(const ComponentSyntax* scope, const std::string& name,
                              const ComponentBinding& binding) const;
  // The component in which this one is written; null for those of the program.
  const ComponentSyntax* enclosing(const ComponentSyntax* component) const;

 private:
  using Visited = std::set<const ComponentSyntax*>;
  void add(const ProgramSyntax& content, const ComponentSyntax* enclosing);
  const ComponentSyntax* search(const ComponentSyntax* scope, const std::string& name,
                                const ComponentBinding& binding, Visited& visited) const;

  const ProgramSyntax& program_;
  std::map<const ComponentSyntax*, const ComponentSyntax*> enclosing_;
  mutable std::uint64_t steps_ = 0;  // bounds the search in programs made to be hard
};

// Reports what is wrong with components whether they are used or not.
void check_components(const ProgramSyntax& program, const ComponentScopes& scopes,
                      DiagnosticSink& sink);

}  // namespace stratalog::datalog::language
