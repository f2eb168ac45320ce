// SPDX-License-Identifier: Apache-2.0
#include "datalog/evaluate/class_agreement.h"

#include <algorithm>
#include <utility>

#include "datalog/evaluate/class_mail.h"
#include "datalog/evaluate/placement.h"
#include "model/multiset_hash.h"
#include "relation/prefix_map.h"

namespace stratalog::datalog {
namespace {

using Pair = Equivalence::Pair;

// Up to here every rank gets all edges and finds their ends by itself: cheaper than many exchanges.
constexpr std::uint64_t kFewEdges = std::uint64_t{1} << 14;

// The order in which labels are hooked. At first that of their numbers: what each rank has found is
// stars around the least of their labels. But the numbers may be the order of a long path, and then
// each hook would wait for the one before; so from then on one by hashes.
enum class HookOrder : std::uint8_t { kNumbers, kHashes };

bool hooks_before(HookOrder order, Cell a, Cell b) {
  if (order == HookOrder::kNumbers) return a < b;
  const std::uint64_t first = splitmix64(a);
  const std::uint64_t second = splitmix64(b);
  return first != second ? first < second : a < b;
}

// Labels that this rank owns and that an edge or a new element has named, each with what it is
// hooked to: itself, or another one.
class Hooks {
 public:
  std::uint32_t touch(Cell label) {
    const std::uint32_t id = ids_.find_or_add(&label);
    if (id == hooks_.size()) hooks_.push_back(label);
    return id;
  }
  std::uint32_t size() const { return ids_.size(); }
  Cell label(std::uint32_t id) const { return ids_.key(id)[0]; }
  Cell hook(std::uint32_t id) const { return hooks_[id]; }
  void set_hook(std::uint32_t id, Cell hook) { hooks_[id] = hook; }
  Cell hook_of(Cell label) const {
    const std::uint32_t id = ids_.find(&label);
    return id == PrefixMap::kAbsent ? label : hooks_[id];
  }

 private:
  PrefixMap ids_{1};
  Cells hooks_;
};

// What comes into a new class together: elements that were in none, or all of a former class.
enum class PartKind : std::uint8_t { kFresh, kFormer };
// In a message, beside the number of its elements.
constexpr Cell kFormerBit = 0x80000000U;

// New classes, at the owners of their labels, of parts that come in any order.
class Wholes {
 public:
  void add(Cell label, PartKind kind, std::span<const Cell> part) {
    const std::uint32_t whole = labels_.find_or_add(&label);
    parts_.push_back({.whole = whole,
                      .size = static_cast<std::uint32_t>(part.size()),
                      .begin = cells_.size(),
                      .kind = kind});
    cells_.insert(cells_.end(), part.begin(), part.end());
  }
  std::uint32_t size() const { return labels_.size(); }
  Cell label(std::uint32_t whole) const { return labels_.key(whole)[0]; }

  // visit(label, cells, where the largest former class begins among them, its size or 0)
  template <typename Visit>
  void for_each(Visit&& visit) const {
    std::vector<std::size_t> ends(size() + std::size_t{1}, 0);  // of each one's parts, in `order`
    for (const Part& part : parts_) ++ends[part.whole + 1];
    for (std::size_t w = 1; w < ends.size(); ++w) ends[w] += ends[w - 1];
    std::vector<std::uint32_t> order(parts_.size());
    for (std::uint32_t p = 0; p < parts_.size(); ++p) order[ends[parts_[p].whole]++] = p;
    Cells cells;
    std::size_t at = 0;
    for (std::uint32_t w = 0; w < size(); ++w) {
      cells.clear();
      std::size_t base_begin = 0;
      std::size_t base_size = 0;
      for (; at < ends[w]; ++at) {
        const Part& part = parts_[order[at]];
        if (part.kind == PartKind::kFormer && part.size > base_size) {
          base_begin = cells.size();
          base_size = part.size;
        }
        const auto from = std::span(cells_).subspan(part.begin, part.size);
        cells.insert(cells.end(), from.begin(), from.end());
      }
      visit(label(w), std::span<const Cell>(cells), base_begin, base_size);
    }
  }

 private:
  struct Part {
    std::uint32_t whole = 0;
    std::uint32_t size = 0;
    std::size_t begin = 0;
    PartKind kind = PartKind::kFresh;
  };
  PrefixMap labels_{1};
  std::vector<Part> parts_;
  Cells cells_;
};

class Agreement {
 public:
  Agreement(Comm& comm, Equivalence& classes, ClassAgreement& spent)
      : comm_(comm), classes_(classes), mail_(comm, spent) {}

  // Collective; one verdict.
  Status run(const std::vector<Pair>& pairs, const Status& mine) {
    STRATALOG_RETURN_IF_ERROR(name_edges(pairs, mine));
    STRATALOG_RETURN_IF_ERROR(connect());
    STRATALOG_RETURN_IF_ERROR(bring_together());
    return hand_out();
  }

 private:
  // The label of an own element, which is its own where it is new.
  Cell label_of(Cell element) {
    if (classes_.class_of(element) == nullptr) hooks_.touch(element);
    return classes_.label_of(element);
  }

  // Collective. The sum over all ranks, or what went wrong on one of them.
  Result<std::uint64_t> sum(std::uint64_t count, const Status& mine) {
    std::uint64_t sums[] = {count, mine.is_ok() ? 0U : 1U};
    STRATALOG_RETURN_IF_ERROR(comm_.allreduce(sums, ReduceOp::kSum));
    if (sums[1] != 0) STRATALOG_RETURN_IF_ERROR(agree(comm_, mine));
    return sums[0];
  }

  // Pairs of elements become edges between labels: there are few first ones, whose labels are asked
  // for; the owners of the second ones know the rest.
  Status name_edges(const std::vector<Pair>& pairs, Status mine) {
    std::vector<std::uint32_t> first_of;
    OwnerQuestions firsts(comm_);
    if (mine.is_ok())
      mine = attempt([&] {
        mail_.open();
        first_of.reserve(pairs.size());
        for (const Pair& pair : pairs) first_of.push_back(firsts.ask(pair.first, mail_));
      });
    STRATALOG_ASSIGN_OR_RETURN(
        const Cells labels,
        firsts.answers(mail_, mine, [this](Cell element) { return label_of(element); }));
    mine = attempt([&] {
      for (std::size_t i = 0; i < pairs.size(); ++i) {
        Cells& to = mail_.to_owner(pairs[i].second);
        to.push_back(labels[first_of[i]]);
        to.push_back(pairs[i].second);
      }
    });
    STRATALOG_ASSIGN_OR_RETURN(const Arrived seconds, mail_.exchange(mine));
    mine_ = attempt([&] {
      const std::span<const Cell> cells = seconds.cells();
      for (std::size_t i = 0; i + 1 < cells.size(); i += 2)
        note_edge(cells[i], label_of(cells[i + 1]));
    });
    return Status::ok();
  }

  void note_edge(Cell a, Cell b) {
    if (a == b) return;
    const Cell later = hooks_before(order_, a, b) ? b : a;
    Cells& to = mail_.to_owner(later);
    to.push_back(later);
    to.push_back(later == a ? b : a);
    ++edges_;
  }

  // Until no edge is left: each label is hooked to the first of those that an edge leads to, if
  // that is before it; labels jump to the end of such hooks; and edges lead from there on.
  Status connect() {
    for (bool is_first = true;; is_first = false) {
      STRATALOG_ASSIGN_OR_RETURN(const std::uint64_t left, sum(std::exchange(edges_, 0), mine_));
      if (left <= kFewEdges) {
        if (left > 0) STRATALOG_RETURN_IF_ERROR(connect_alone());
        if (is_first) return Status::ok();  // no hook leads to another one
        break;
      }
      STRATALOG_ASSIGN_OR_RETURN(const Arrived arrived, mail_.exchange(Status::ok()));
      const std::span<const Cell> edges = arrived.cells();
      std::vector<std::uint32_t> hooked;
      mine_ = attempt([&] {
        for (std::size_t i = 0; i + 1 < edges.size(); i += 2) {
          const std::uint32_t id = hooks_.touch(edges[i]);
          if (hooks_.hook(id) == edges[i]) hooked.push_back(id);
          if (hooks_before(order_, edges[i + 1], hooks_.hook(id)))
            hooks_.set_hook(id, edges[i + 1]);
        }
      });
      STRATALOG_RETURN_IF_ERROR(jump(std::move(hooked)));
      order_ = HookOrder::kHashes;
      STRATALOG_RETURN_IF_ERROR(lead_on(edges));
    }
    std::vector<std::uint32_t> hooked;
    if (mine_.is_ok())
      mine_ = attempt([&] {
        for (std::uint32_t id = 0; id < hooks_.size(); ++id)
          if (hooks_.hook(id) != hooks_.label(id)) hooked.push_back(id);
      });
    return jump(std::move(hooked));
  }

  // The same on every rank: it knows all edges, and hooks its own labels.
  Status connect_alone() {
    STRATALOG_ASSIGN_OR_RETURN(const Cells edges, mail_.tell_all(Status::ok()));
    mine_ = attempt([&] {
      Equivalence::PairFilter filter;
      for (std::size_t i = 0; i + 1 < edges.size(); i += 2) filter.unite(edges[i], edges[i + 1]);
      for (const Pair& star : filter.stars())
        if (star.first != star.second &&
            owner_of_element(star.second, comm_.size()) == comm_.rank())
          hooks_.set_hook(hooks_.touch(star.second), star.first);
    });
    return Status::ok();
  }

  // The edges between what their ends are hooked to now, where that differs; once each, and none
  // between what others connect already.
  Status lead_on(std::span<const Cell> edges) {
    OwnerQuestions hooks(comm_);
    std::vector<std::uint32_t> asked;
    if (mine_.is_ok())
      mine_ = attempt([&] {
        for (std::size_t i = 0; i + 1 < edges.size(); i += 2)
          asked.push_back(hooks.ask(edges[i + 1], mail_));
      });
    STRATALOG_ASSIGN_OR_RETURN(const Cells ends, hooks.answers(mail_, mine_, [this](Cell label) {
      return hooks_.hook_of(label);
    }));
    mine_ = attempt([&] {
      Equivalence::PairFilter filter;
      for (std::size_t i = 0; i + 1 < edges.size(); i += 2) {
        const Cell first = hooks_.hook_of(edges[i]);
        const Cell second = ends[asked[i / 2]];
        if (first != second && filter.unite(first, second)) note_edge(first, second);
      }
    });
    return Status::ok();
  }

  // Until each of these labels is hooked to one that is hooked to itself.
  Status jump(std::vector<std::uint32_t> open) {
    for (;;) {
      STRATALOG_ASSIGN_OR_RETURN(const std::uint64_t left, sum(open.size(), mine_));
      if (left == 0) return Status::ok();
      OwnerQuestions hooks(comm_);
      std::vector<std::uint32_t> asked;
      const Status mine = attempt([&] {
        asked.reserve(open.size());
        for (const std::uint32_t id : open) asked.push_back(hooks.ask(hooks_.hook(id), mail_));
      });
      STRATALOG_ASSIGN_OR_RETURN(const Cells next, hooks.answers(mail_, mine, [this](Cell label) {
        return hooks_.hook_of(label);
      }));
      std::size_t kept = 0;
      for (std::size_t i = 0; i < open.size(); ++i) {
        const Cell hook = next[asked[i]];
        const bool is_root = hook == hooks_.hook(open[i]);
        hooks_.set_hook(open[i], hook);
        if (!is_root) open[kept++] = open[i];
      }
      open.resize(kept);
    }
  }

  // What becomes part of another class goes to the owner of that class's label.
  Status bring_together() {
    if (mine_.is_ok()) mine_ = attempt([&] { send_parts(); });
    STRATALOG_ASSIGN_OR_RETURN(const Arrived parts, mail_.exchange(mine_));
    bool is_whole = true;
    mine_ = attempt([&] { is_whole = take_parts(parts.cells()); });
    if (!is_whole) mine_ = Status::internal("classes: a part is cut");
    return Status::ok();
  }

  void send_parts() {
    for (std::uint32_t id = 0; id < hooks_.size(); ++id) {
      const Cell label = hooks_.label(id);
      const Cell root = hooks_.hook(id);
      const IntSet* members = classes_.class_of(label);
      if (root == label) {
        if (members == nullptr) wholes_.add(label, PartKind::kFresh, std::span(&label, 1));
        continue;
      }
      Cells& to = mail_.to_owner(root);
      to.push_back(root);
      const std::size_t count = to.size();
      to.push_back(0);
      if (members != nullptr) {
        members->walk([&](Cell cell) { to.push_back(cell); });
        to[count] = static_cast<Cell>(to.size() - count - 1) | kFormerBit;
        continue;
      }
      // New elements that follow each other are often of one class.
      to.push_back(label);
      while (id + 1 < hooks_.size() && hooks_.hook(id + 1) == root &&
             hooks_.label(id + 1) != root && classes_.class_of(hooks_.label(id + 1)) == nullptr)
        to.push_back(hooks_.label(++id));
      to[count] = static_cast<Cell>(to.size() - count - 1);
    }
    hooks_ = {};
  }

  bool take_parts(std::span<const Cell> cells) {
    while (cells.size() > 1) {
      const std::size_t count = cells[1] & ~kFormerBit;
      if (count > cells.size() - 2) return false;
      const auto kind = (cells[1] & kFormerBit) != 0 ? PartKind::kFormer : PartKind::kFresh;
      wholes_.add(cells[0], kind, cells.subspan(2, count));
      cells = cells.subspan(2 + count);
    }
    // Where the label is that of a class, that is part of it as well.
    Cells own;
    for (std::uint32_t w = 0, labels = wholes_.size(); w < labels; ++w)
      if (const IntSet* members = classes_.class_of(wholes_.label(w)); members != nullptr) {
        own.clear();
        members->walk([&](Cell cell) { own.push_back(cell); });
        wholes_.add(wholes_.label(w), PartKind::kFormer, own);
      }
    return true;
  }

  // Every rank that has an element of a new class gets it: whole, or what is new to it where it has
  // the largest former class, which one of its elements there names.
  Status hand_out() {
    if (mine_.is_ok())
      mine_ = attempt([&] {
        wholes_.for_each([this](Cell label, std::span<const Cell> cells, std::size_t base_begin,
                                std::size_t base_size) {
          hand_out(label, cells, base_size == 0 ? cells.size() : base_begin, base_size);
        });
        wholes_ = {};
      });
    STRATALOG_ASSIGN_OR_RETURN(const Arrived handed, mail_.exchange(mine_));
    bool is_whole = true;
    mine_ = attempt([&] { is_whole = take_classes(handed.cells()); });
    if (!is_whole) mine_ = Status::internal("classes: a class is cut, or a former one missing");
    return agree(comm_, mine_);
  }

  bool take_classes(std::span<const Cell> cells) {
    while (cells.size() > 2) {
      const std::size_t count = cells[2];
      if (count > cells.size() - 3) return false;
      const auto part = cells.subspan(3, count);
      Cells members(part.begin(), part.end());
      if (cells[0] == kMore) {
        const IntSet* base = classes_.class_of(cells[1]);
        if (base == nullptr) return false;
        members.reserve(count + base->size());
        base->walk([&](Cell cell) { members.push_back(cell); });
      }
      std::sort(members.begin(), members.end());
      classes_.merge(std::move(members));
      cells = cells.subspan(3 + count);
    }
    return true;
  }

  static constexpr Cell kWhole = 0;
  static constexpr Cell kMore = 1;

  // The largest former class are `base_size` of the cells, from `base_begin` on; none: 0.
  void hand_out(Cell label, std::span<const Cell> cells, std::size_t base_begin,
                std::size_t base_size) {
    const auto ranks = static_cast<std::size_t>(comm_.size());
    in_base_.assign(ranks, nullptr);
    is_elsewhere_.assign(ranks, false);
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const auto owner = static_cast<std::size_t>(owner_of_element(cells[i], comm_.size()));
      if (i - base_begin < base_size)
        in_base_[owner] = &cells[i];
      else
        is_elsewhere_[owner] = true;
    }
    for (std::size_t r = 0; r < ranks; ++r) {
      Cells& to = mail_.to(static_cast<int>(r));
      if (in_base_[r] != nullptr) {
        to.insert(to.end(), {kMore, *in_base_[r], static_cast<Cell>(cells.size() - base_size)});
        const auto before = cells.first(base_begin);
        const auto behind = cells.subspan(base_begin + base_size);
        to.insert(to.end(), before.begin(), before.end());
        to.insert(to.end(), behind.begin(), behind.end());
      } else if (is_elsewhere_[r]) {
        to.insert(to.end(), {kWhole, label, static_cast<Cell>(cells.size())});
        to.insert(to.end(), cells.begin(), cells.end());
      }
    }
  }

  Comm& comm_;
  Equivalence& classes_;
  CellMail mail_;
  Status mine_;  // how it went here since the last collective call
  Hooks hooks_;
  HookOrder order_ = HookOrder::kNumbers;
  std::uint64_t edges_ = 0;  // in mail_
  Wholes wholes_;
  std::vector<const Cell*> in_base_;  // by rank, of one new class: one of its elements there
  std::vector<bool> is_elsewhere_;
};

}  // namespace

int owner_of_element(Cell element, int ranks) { return owner_of(std::span(&element, 1), ranks); }

Result<ClassAgreement> agree_on_classes(Comm& comm, Equivalence& classes,
                                        const std::vector<Equivalence::Pair>& pairs,
                                        const Status& mine) {
  ClassAgreement spent;
  STRATALOG_RETURN_IF_ERROR(Agreement(comm, classes, spent).run(pairs, mine));
  return spent;
}

}  // namespace stratalog::datalog
