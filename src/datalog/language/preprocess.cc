// SPDX-License-Identifier: Apache-2.0
#include "datalog/language/preprocess.h"

#include <utility>

namespace stratalog::datalog {

PreprocessOutcome preprocess(const SourceText& source, const CompileOptions&) {
  PreprocessOutcome outcome;
  outcome.text = source.text;
  outcome.originals[source.name] = source.text;
  return outcome;
}

}  // namespace stratalog::datalog
