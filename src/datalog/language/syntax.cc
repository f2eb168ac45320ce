// SPDX-License-Identifier: Apache-2.0
#include "datalog/language/syntax.h"

namespace stratalog::datalog::language {

Term::Term() = default;
Term::~Term() = default;
Term::Term(const Term&) = default;
Term& Term::operator=(const Term&) = default;
Term::Term(Term&&) noexcept = default;
Term& Term::operator=(Term&&) noexcept = default;

}  // namespace stratalog::datalog::language
