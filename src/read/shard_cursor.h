// SPDX-License-Identifier: Apache-2.0
// ShardCursor: the groups of a shard one after the other, whenever the caller asks for the next
// one, so that several shards can be read side by side, whatever their modes are. Verifies as
// read_shard does and hands nothing out before. Memory: one block, or what stands for one
// (read/stream_reader.h, read/piece_stream.h), and the groups in it. Local.
#pragma once

#include <memory>

#include "base/result.h"
#include "base/status.h"
#include "commit/manifest.h"
#include "model/tuple_group.h"
#include "write/store.h"

namespace stratalog {

class ShardCursor {
 public:
  // At the first group. `manifest` and `shard` outlive the cursor.
  static Result<ShardCursor> open(Store& store, const Manifest& manifest,
                                  const ManifestShard& shard);
  ShardCursor(ShardCursor&&) noexcept;
  ShardCursor& operator=(ShardCursor&&) noexcept;
  ShardCursor(const ShardCursor&) = delete;
  ShardCursor& operator=(const ShardCursor&) = delete;
  ~ShardCursor();

  // Null at the end; valid until advance().
  const TupleGroup* head() const;
  Status advance();

 private:
  struct Parts;
  explicit ShardCursor(std::unique_ptr<Parts> parts);

  std::unique_ptr<Parts> parts_;
};

}  // namespace stratalog
