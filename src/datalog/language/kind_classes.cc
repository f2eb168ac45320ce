// SPDX-License-Identifier: Apache-2.0
#include "datalog/language/kind_classes.h"

#include <fmt/format.h>

#include <utility>

namespace stratalog::datalog::language {
namespace {

std::string describe(KindMask mask) {
  switch (mask) {
    case kN:
      return "a number";
    case kU:
      return "an unsigned";
    case kF:
      return "a float";
    case kS:
      return "a symbol";
    case kN | kU:
      return "a number or an unsigned";
    case kN | kF:
      return "a number or a float";
    case kN | kU | kF:
      return "a number, an unsigned or a float";
    case kR:
      return "a record";
    case kScalar:
      return "a number, an unsigned, a float or a symbol";
    default:
      return "any kind";
  }
}

}  // namespace

KindNode KindClasses::make_node() {
  classes_.push_back({static_cast<KindNode>(classes_.size()), kAny, false, kNoStructure, {}});
  return static_cast<KindNode>(classes_.size() - 1);
}

KindNode KindClasses::root(KindNode node) {
  while (classes_[node].parent != node) {
    classes_[node].parent = classes_[classes_[node].parent].parent;
    node = classes_[node].parent;
  }
  return node;
}

void KindClasses::narrow(KindNode node, KindUse use, Span subject) {
  Class& cls = classes_[root(node)];
  if (cls.is_clashing) return;
  const auto narrowed = static_cast<KindMask>(cls.mask & use.mask);
  if (narrowed == 0) {
    const KindUse before = opposing(cls, use.mask);
    cls.is_clashing = true;
    clash(subject, use, before);
    return;
  }
  if (use.structure != kNoStructure && cls.structure != kNoStructure &&
      use.structure != cls.structure) {
    const KindUse before = structure_use(cls);
    cls.is_clashing = true;
    clash(subject, use, before);
    return;
  }
  if (narrowed == cls.mask && cls.structure == use.structure) return;
  if (narrowed == cls.mask && use.structure == kNoStructure) return;
  cls.mask = narrowed;
  if (use.structure != kNoStructure) cls.structure = use.structure;
  cls.uses.push_back(std::move(use));
}

void KindClasses::unite(KindNode a, KindNode b, Span here, std::string_view construct) {
  a = root(a);
  b = root(b);
  if (a == b) return;
  Class& left = classes_[a];
  Class& right = classes_[b];
  if ((left.mask & right.mask) == 0 && !left.is_clashing && !right.is_clashing) {
    report_disagreement(left, right, here, construct);
    left.is_clashing = true;
  } else if (left.structure != kNoStructure && right.structure != kNoStructure &&
             left.structure != right.structure && !left.is_clashing && !right.is_clashing) {
    report_structures(left, right, here, construct);
    left.is_clashing = true;
  }
  if (left.structure == kNoStructure) left.structure = right.structure;
  left.is_clashing = left.is_clashing || right.is_clashing;
  left.mask = static_cast<KindMask>(left.mask & right.mask);
  for (KindUse& use : right.uses) {
    if (left.uses.size() < 8) left.uses.push_back(std::move(use));
  }
  right.uses.clear();
  right.parent = a;
}

std::string KindClasses::quote(Span span) const {
  std::string quoted(text_.substr(span.begin, span.end - span.begin));
  for (char& c : quoted) {
    if (c == '\n' || c == '\r' || c == '\t') c = ' ';
  }
  return quoted.size() > 30 ? quoted.substr(0, 27) + "..." : quoted;
}

std::string KindClasses::describe_use(const KindUse& use) const {
  if (use.structure == kNoStructure) return describe(use.mask);
  return "of " + structures_.describe(use.structure);
}

void KindClasses::clash(Span subject, const KindUse& now, const KindUse& before) {
  is_ok_ = false;
  DiagnosticDraft& draft = sink_.error(
      now.span, fmt::format("type clash: `{}` is {} {}, but {} {}", quote(subject),
                            describe_use(now), now.role, describe_use(before), before.role));
  if (before.span.begin != now.span.begin || before.span.end != now.span.end) {
    draft.notes.push_back({before.span, fmt::format("{} here", describe_use(before))});
  }
  if (((now.mask | before.mask) & kR) != 0) return;
  if ((now.mask | before.mask) == (kN | kF) || (now.mask | before.mask) == (kN | kU)) {
    draft.hint = "convert with to_number, to_unsigned or to_float";
  } else if (((now.mask | before.mask) & kS) != 0) {
    draft.hint = "convert with to_string, or to_number and its like";
  }
}

const KindUse& KindClasses::opposing(const Class& cls, KindMask mask) {
  static const KindUse kNone;
  for (const KindUse& use : cls.uses) {
    if ((use.mask & mask) == 0) return use;
  }
  return cls.uses.empty() ? kNone : cls.uses.back();
}

const KindUse& KindClasses::structure_use(const Class& cls) {
  static const KindUse kNone;
  for (const KindUse& use : cls.uses) {
    if (use.structure != kNoStructure) return use;
  }
  return cls.uses.empty() ? kNone : cls.uses.back();
}

void KindClasses::report_structures(const Class& left, const Class& right, Span here,
                                    std::string_view construct) {
  is_ok_ = false;
  const KindUse& one = structure_use(left);
  const KindUse& other = structure_use(right);
  DiagnosticDraft& draft =
      sink_.error(here, fmt::format("type clash: the sides of `{}` are {} and {}", construct,
                                    describe_use(one), describe_use(other)));
  draft.notes.push_back({one.span, fmt::format("{} {}", describe_use(one), one.role)});
  draft.notes.push_back({other.span, fmt::format("{} {}", describe_use(other), other.role)});
}

void KindClasses::report_disagreement(const Class& left, const Class& right, Span here,
                                      std::string_view construct) {
  is_ok_ = false;
  const KindUse& one = opposing(left, right.mask);
  const KindUse& other = opposing(right, left.mask);
  DiagnosticDraft& draft =
      sink_.error(here, fmt::format("type clash: the sides of `{}` are {} and {}", construct,
                                    describe(left.mask), describe(right.mask)));
  draft.notes.push_back({one.span, fmt::format("{} {}", describe(one.mask), one.role)});
  draft.notes.push_back({other.span, fmt::format("{} {}", describe(other.mask), other.role)});
  if (((left.mask | right.mask) & (kS | kR)) == 0)
    draft.hint = "convert with to_number, to_unsigned or to_float";
}

}  // namespace stratalog::datalog::language
