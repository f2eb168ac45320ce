// SPDX-License-Identifier: Apache-2.0
// libFuzzer target: any bytes are a program. Nothing may crash, hang or leak; a program that
// compiles can be printed, and all diagnostics can be rendered. Starts no process and reads no
// files.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "datalog/language/compile.h"
#include "datalog/language/print_program.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace dl = stratalog::datalog;
  const dl::SourceText source{"fuzz.dl", std::string(reinterpret_cast<const char*>(data), size)};
  dl::CompileOptions options;
  options.preprocessor = dl::PreprocessorUse::kNever;
  const dl::CompileOutcome outcome = dl::compile(source, options);
  bool has_error = false;
  for (const dl::Diagnostic& diagnostic : outcome.diagnostics) {
    has_error = has_error || diagnostic.severity == dl::Severity::kError;
    if (dl::render(diagnostic).empty()) std::abort();
  }
  // Exactly one of the two: a program, or an error that says why there is none.
  if (has_error == outcome.is_ok()) std::abort();
  if (outcome.program && dl::print_program(*outcome.program).empty() &&
      !outcome.program->relations.empty()) {
    std::abort();
  }
  return 0;
}
