// SPDX-License-Identifier: Apache-2.0
// Names of the sections of an engine's checkpoint; what is in them, say docs/formats/facts.md and
// docs/formats/engine_state.md.
#pragma once

namespace stratalog::datalog {

inline constexpr const char* kDictionarySection = "dictionary";
inline constexpr const char* kProgramSection = "program";
inline constexpr const char* kRecordsSection = "records";  // only if there are record types
inline constexpr const char* kRoundsSection = "rounds";

}  // namespace stratalog::datalog
