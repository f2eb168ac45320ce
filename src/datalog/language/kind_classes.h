// SPDX-License-Identifier: Apache-2.0
// KindClasses: what must be of one kind, as classes that are united; every use narrows its class,
// and one that runs empty is a clash, which is reported with both uses. Knows nothing of rules.
// Local.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "datalog/language/bound_rule.h"
#include "datalog/language/diagnostic_sink.h"
#include "datalog/language/functor_signature.h"
#include "datalog/language/structure_table.h"

namespace stratalog::datalog::language {

// What narrowed a class, for messages.
struct KindUse {
  KindMask mask = kAny;
  Span span;
  std::string role;  // "as attribute `x` of `edge`"
  StructureId structure = kNoStructure;  // with kR: of which type
};

class KindClasses {
 public:
  // `text` is what spans point into, to quote from.
  KindClasses(const StructureTable& structures, std::string_view text, DiagnosticSink& sink)
      : structures_(structures), text_(text), sink_(sink) {}

  // In a class of its own.
  KindNode make_node();
  std::size_t nodes() const { return classes_.size(); }
  // What stands for the class.
  KindNode root(KindNode node);

  // `use` narrows the class; `subject` is what is used.
  void narrow(KindNode node, KindUse use, Span subject);
  // `here` is the construct that makes both agree.
  void unite(KindNode a, KindNode b, Span here, std::string_view construct);

  KindMask mask(KindNode node) { return classes_[root(node)].mask; }
  // Of which type, where some use said so.
  StructureId structure(KindNode node) { return classes_[root(node)].structure; }
  // Reported; nothing more is said of it.
  bool is_clashing(KindNode node) { return classes_[root(node)].is_clashing; }
  // Nothing was reported.
  bool is_ok() const { return is_ok_; }

 private:
  struct Class {
    KindNode parent;
    KindMask mask = kAny;
    bool is_clashing = false;  // reported; anything goes from here on
    StructureId structure = kNoStructure;  // with kR: of which type, once some use says so
    std::vector<KindUse> uses;  // those that narrowed it, at most one per kind bit
  };

  std::string quote(Span span) const;
  std::string describe_use(const KindUse& use) const;
  void clash(Span subject, const KindUse& now, const KindUse& before);
  static const KindUse& opposing(const Class& cls, KindMask mask);
  static const KindUse& structure_use(const Class& cls);
  void report_structures(const Class& left, const Class& right, Span here,
                         std::string_view construct);
  void report_disagreement(const Class& left, const Class& right, Span here,
                           std::string_view construct);

  const StructureTable& structures_;
  std::string_view text_;
  DiagnosticSink& sink_;
  std::vector<Class> classes_;
  bool is_ok_ = true;
};

}  // namespace stratalog::datalog::language
