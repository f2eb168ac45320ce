// SPDX-License-Identifier: Apache-2.0
// agree_on_classes: how ranks that each have the classes of their own elements (Equivalence, dealt)
// find out which of them become one. An element lies with the rank that its hash names, a label,
// which is the least element of a class, too. Pairs become edges between labels. In each phase a
// label is hooked to the first one, in an order by hashes, that an edge leads to; labels jump along
// hooks to their ends; and edges lead from these ends on, until there are none. With an order that
// has nothing to do with the graph, that takes a number of phases logarithmic in the labels.
// Hooking and pointer jumping after Shiloach and Vishkin, "An O(log n) parallel connectivity
// algorithm". Collective.
#pragma once

#include <vector>

#include "base/result.h"
#include "comm/comm.h"
#include "relation/equivalence.h"

namespace stratalog::datalog {

// The rank that has an element.
int owner_of_element(Cell element, int ranks);

struct ClassAgreement {
  std::uint64_t exchanges = 0;
  std::uint64_t sent_bytes = 0;  // to other ranks
};

// Collective. `pairs`: what this rank has found to be equivalent, an element that is new perhaps to
// itself. Each rank's part of what becomes of them goes to Equivalence::merge() of `classes`, which
// is dealt by owner_of_element. Says what it took. One verdict for all ranks: `mine`, how it went
// here so far, or want of memory on some rank, after which `classes` are of no use any more.
Result<ClassAgreement> agree_on_classes(Comm& comm, Equivalence& classes,
                                        const std::vector<Equivalence::Pair>& pairs,
                                        const Status& mine = {});

}  // namespace stratalog::datalog
