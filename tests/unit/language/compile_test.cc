// SPDX-License-Identifier: Apache-2.0
// Programs that compile, compared as printed programs.
#include "datalog/language/compile.h"

#include <gtest/gtest.h>

#include "datalog/language/print_program.h"

namespace stratalog::datalog {
namespace {

std::string compiled(const std::string& text) {
  const CompileOutcome outcome = compile({"test.dl", text});
  std::string printed;
  for (const Diagnostic& diagnostic : outcome.diagnostics) {
    if (diagnostic.severity == Severity::kError) printed += render(diagnostic);
  }
  if (outcome.program) printed += print_program(*outcome.program);
  return printed;
}

TEST(Compile, TransitiveClosure) {
  EXPECT_EQ(compiled(".decl edge(a:number,b:number)\n.input edge\n.decl path(a:number,b:number)\n.output path\n"
                     "path(x,y) :- edge(x,y).\npath(x,z) :- path(x,y), edge(y,z).\n"),
            ".decl edge(a: number, b: number)\n"
            ".input edge()\n"
            ".decl path(a: number, b: number)\n"
            ".output path()\n"
            "stratum 0: edge\n"
            "stratum 1 (recursive): path\n"
            "  path(x, y) :- edge(x, y).\n"
            "  path(x, z) :- path(x, y), edge(y, z).\n");
}

}  // namespace
}  // namespace stratalog::datalog
