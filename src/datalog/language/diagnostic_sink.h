// SPDX-License-Identifier: Apache-2.0
// DiagnosticSink: where all language stages leave what they found, as spans. compile() turns the
// drafts into Diagnostics at the end, sorted by place, without repetitions and capped. Local; not
// thread-safe.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "datalog/language/diagnostic.h"
#include "datalog/language/source_map.h"
#include "datalog/language/source_span.h"

namespace stratalog::datalog::language {

struct NoteDraft {
  Span span;
  std::string message;
};

struct DiagnosticDraft {
  Severity severity = Severity::kError;
  Span span;
  std::string message;
  std::string expected;
  std::string hint;
  std::vector<NoteDraft> notes;
  std::shared_ptr<const std::vector<NoteDraft>> origin;  // notes that come last
};

class DiagnosticSink {
 public:
  // The reference stays valid until the next call; fill in expected, hint and notes through it.
  DiagnosticDraft& error(Span span, std::string message);
  DiagnosticDraft& warning(Span span, std::string message);

  // Whatever is reported from now on carries these notes as well: how the text at hand came to
  // stand where it stands (instances of components). Null for text that the user wrote there.
  void set_origin(std::shared_ptr<const std::vector<NoteDraft>> origin) {
    origin_ = std::move(origin);
  }

  std::size_t error_count() const { return error_count_; }
  bool has_errors() const { return error_count_ > 0; }

  // Sorted by place, each once, at most `limit` errors and `limit` warnings; a last entry counts
  // what was left out.
  std::vector<Diagnostic> finish(const SourceMap& map, std::size_t limit) const;

 private:
  DiagnosticDraft& add(Severity severity, Span span, std::string message);

  std::deque<DiagnosticDraft> drafts_;
  std::size_t error_count_ = 0;
  std::shared_ptr<const std::vector<NoteDraft>> origin_;
  DiagnosticDraft dropped_;  // takes the drafts past the memory bound
};

}  // namespace stratalog::datalog::language
