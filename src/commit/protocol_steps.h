// SPDX-License-Identifier: Apache-2.0
// ProtocolSteps: which steps of the commit protocol to leave out. For tests only: each step that
// can be left out must make a crash or fault test fail, which proves that the step is needed and
// that the test looks at it. Pure; local.
#pragma once

#include <cstdint>

namespace stratalog {

enum class ProtocolStep : std::uint32_t {
  kSyncStoreFile = 1U << 0,  // fsync of STORE
  kSyncStoreFileDirectory = 1U << 1,  // fsync of the root after creating STORE
  kSyncEpoch = 1U << 2,  // fsync of the root after claiming an epoch and making STORE
  kExclusiveEpoch = 1U << 3,  // O_EXCL on the epoch file
  kSyncNewGeneration = 1U << 4,  // fsync of the root after mkdir of the generation
  kSyncShards = 1U << 5,  // fsync of every data file
  kSyncSections = 1U << 6,  // fsync of the section files
  kAgreeBeforeManifest = 1U << 7,  // the agreement of all ranks
  kSyncGenerationFiles = 1U << 8,  // fsync of the generation directory before the manifest
  kSyncManifest = 1U << 9,  // fsync of MANIFEST.tmp
  kRenameManifest =
      1U << 10,  // write MANIFEST.tmp and rename, instead of writing MANIFEST in place
  kSyncRename = 1U << 11,  // fsync of the generation directory after the rename
  kCheckEpochBeforeCommit = 1U << 12,  // look for a higher epoch before the rename
  kCheckBlocks = 1U << 13,  // readers verify block checksums
  kCheckManifest = 1U << 14,  // readers verify the manifest's self-hash
  kCheckSizes = 1U << 15,  // readers compare file sizes with the manifest
  kHideBeforeDelete = 1U << 16,  // retention renames MANIFEST away before it unlinks
  kSyncHidden = 1U << 17,  // and fsyncs that before it unlinks
  kSyncAdopted = 1U << 18,  // a new epoch fsyncs what it found before it collects older generations
  kKeepTwo = 1U << 19,  // retention keeps at least two valid generations
  kKeepLinked = 1U << 20,  // retention keeps the files on which kept generations build
  kBuildOnCommitted = 1U << 21,  // growth builds on acknowledged generations only
  kSealStages = 1U << 22,  // fsync of the generation's directory in the stages of other nodes
};

struct ProtocolSteps {
  std::uint32_t left_out = 0;  // ProtocolStep bits

  bool includes(ProtocolStep step) const {
    return (left_out & static_cast<std::uint32_t>(step)) == 0;
  }
};

}  // namespace stratalog
