// SPDX-License-Identifier: Apache-2.0
// intern_constants: every constant of a program enters the dictionary, in program order, so that
// rules find them known, and under the same numbers, on every rank. Local, the same on all ranks.
#pragma once

#include "datalog/program.h"
#include "model/value_dictionary.h"

namespace stratalog::datalog {

void intern_constants(const Program& program, ValueDictionary& dictionary);

}  // namespace stratalog::datalog
