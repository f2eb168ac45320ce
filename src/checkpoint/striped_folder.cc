// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/striped_folder.h"

#include <fmt/format.h>

#include "checkpoint/node_stages.h"

namespace stratalog {

StripedFolder striped_folder(const SaveContext& context) {
  const int rank = context.comm.rank();
  const int setter = stages_of_nodes(context.store) == nullptr
                         ? 0
                         : context.layout.leader_of(context.layout.file_of(rank));
  return {.name = generation_name(context.id),
          .striping = context.layout.plan.striping,
          .is_mine = rank == setter};
}

Status write_striped(Comm& comm, Store& store, const StripedFolder& folder,
                     std::vector<std::string>& notes, const std::function<Status()>& write) {
  if (folder.striping.stripe_count == 0) return write();
  Status mine;
  if (folder.is_mine) mine = store.stripe_new_files(folder.name, folder.striping);
  // Nobody creates a file before.
  const Status set = agree(comm, mine);
  if (!set.is_ok() && comm.rank() == 0)
    notes.push_back(
        fmt::format("{}: no stripes were set, files have what the file system gives them (said "
                    "once in a job): {}",
                    folder.name, set.message()));
  const Status written = write();
  if (folder.is_mine && mine.is_ok()) (void)store.stripe_new_files(folder.name, {});
  return written;
}

}  // namespace stratalog
