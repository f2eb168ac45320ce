// SPDX-License-Identifier: Apache-2.0
// The sentences about malformed facts: what was expected, what was found, what to do. Without file
// and line, which the reader puts in front. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "datalog/facts/fact_format.h"
#include "datalog/facts/field_parser.h"
#include "datalog/facts/structured_parser.h"
#include "datalog/program.h"

namespace stratalog::datalog {

struct FactProblem {
  std::uint64_t line = 0;  // from 0, counted from where the parser began
  std::string text;
};

// Whether a line is the first of its file, where a header or a byte order mark explains what looks
// wrong.
enum class LinePlace : std::uint8_t { kFirstOfFile, kLater };

// In double quotes, control characters escaped, cut after 60 bytes.
std::string quote_found(std::string_view text);

// `field` counts from 1 in the file.
std::string describe_field(const Attribute& attribute, std::uint64_t field, FieldProblem problem,
                           std::string_view found, LinePlace place);
std::string describe_structured(const Attribute& attribute, std::uint64_t field,
                                const ParsedStructure& parsed, std::string_view found);

std::string describe_field_count(const Relation& relation, const FactFormat& format,
                                 std::uint64_t found_fields, std::string_view line);
// `field` counts from 1; after a closing quote there must be a delimiter or the line's end.
std::string describe_unbalanced_quote(std::uint64_t field, std::string_view record);
std::string describe_text_after_quote(const FactFormat& format, std::uint64_t field,
                                      std::string_view record);
std::string describe_nullary(const Relation& relation, std::string_view line);

}  // namespace stratalog::datalog
