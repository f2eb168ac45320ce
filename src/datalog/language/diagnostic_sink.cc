// SPDX-License-Identifier: Apache-2.0
#include "datalog/language/diagnostic_sink.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

namespace stratalog::datalog::language {
namespace {

constexpr const char* kIncludedTwice =
    "the file is included twice; write `.once` in it (of `#include`, `#pragma once`)";

// A hostile text can hold millions of errors; the user reads the first hundred.
constexpr std::size_t kMaxDrafts = 10000;

// A macro may make two things of one place, too.
bool is_same_place(const MarkedPlace& a, const MarkedPlace& b) {
  return !a.from_macro && a.place.file == b.place.file && a.place.line == b.place.line &&
         a.place.column == b.place.column;
}

Diagnostic located(const DiagnosticDraft& draft, const SourceMap& map) {
  Diagnostic diagnostic;
  diagnostic.severity = draft.severity;
  diagnostic.where = map.locate(draft.span);
  diagnostic.message = draft.message;
  diagnostic.expected = draft.expected;
  diagnostic.hint = draft.hint;
  for (const NoteDraft& note : draft.notes) {
    diagnostic.notes.push_back({map.locate(note.span), note.message});
    const bool is_elsewhere = note.span.begin != draft.span.begin;
    if (is_elsewhere && diagnostic.hint.empty() &&
        is_same_place(diagnostic.notes.back().where, diagnostic.where))
      diagnostic.hint = kIncludedTwice;
  }
  if (draft.origin != nullptr) {
    for (const NoteDraft& note : *draft.origin)
      diagnostic.notes.push_back({map.locate(note.span), note.message});
  }
  return diagnostic;
}

}  // namespace

DiagnosticDraft& DiagnosticSink::add(Severity severity, Span span, std::string message) {
  if (drafts_.size() >= kMaxDrafts) {
    dropped_ = {severity, span, std::move(message), {}, {}, {}, {}};
    return dropped_;
  }
  drafts_.push_back({severity, span, std::move(message), {}, {}, {}, origin_});
  return drafts_.back();
}

DiagnosticDraft& DiagnosticSink::error(Span span, std::string message) {
  ++error_count_;
  return add(Severity::kError, span, std::move(message));
}

DiagnosticDraft& DiagnosticSink::warning(Span span, std::string message) {
  return add(Severity::kWarning, span, std::move(message));
}

std::vector<Diagnostic> DiagnosticSink::finish(const SourceMap& map, std::size_t limit) const {
  std::vector<const DiagnosticDraft*> order;
  order.reserve(drafts_.size());
  for (const DiagnosticDraft& draft : drafts_) order.push_back(&draft);
  const auto key = [](const DiagnosticDraft* d) {
    return std::tie(d->span.begin, d->span.end, d->severity, d->message);
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](const auto* a, const auto* b) { return key(a) < key(b); });
  order.erase(std::unique(order.begin(), order.end(),
                          [&](const auto* a, const auto* b) { return key(a) == key(b); }),
              order.end());

  std::vector<Diagnostic> result;
  std::size_t shown[2] = {0, 0};
  std::size_t left_out[2] = {0, 0};
  for (const DiagnosticDraft* draft : order) {
    const std::size_t kind = draft->severity == Severity::kError ? 0 : 1;
    if (shown[kind] == limit) {
      ++left_out[kind];
      continue;
    }
    ++shown[kind];
    result.push_back(located(*draft, map));
  }
  const bool some_dropped = drafts_.size() >= kMaxDrafts;
  for (std::size_t kind : {0, 1}) {
    if (left_out[kind] == 0) continue;
    Diagnostic last;
    last.severity = kind == 0 ? Severity::kError : Severity::kWarning;
    last.where = result.back().where;
    last.where.place.line = 0;
    last.count = left_out[kind];
    last.message = fmt::format("{}{} more {}s are not shown", some_dropped ? "at least " : "",
                               left_out[kind], kind == 0 ? "error" : "warning");
    result.push_back(last);
  }
  return result;
}

}  // namespace stratalog::datalog::language
