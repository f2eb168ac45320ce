// SPDX-License-Identifier: Apache-2.0
// Options of a writer under which small samples have many blocks and rounds, in every layout that
// needs no MPI.
#pragma once

#include "checkpoint/checkpoint.h"
#include "write/hdf5_row_layout.h"

namespace stratalog::sample {

inline WriterOptions small_writer_options() {
  WriterOptions options;
  options.block_bytes = 512;
  options.stage_bytes = 4096;
  options.backends.rows = hdf5_serial_files();
  return options;
}

}  // namespace stratalog::sample
