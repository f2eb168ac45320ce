// SPDX-License-Identifier: Apache-2.0
// ParallelModule: what only MPI and HDF5 can do, as a table in a module of its own
// (stratalog_parallel.so) that is loaded at its first use. MPI libraries take tens of milliseconds
// to load, mostly to measure clocks and look for network cards; a run on one rank without them
// need not pay for that. Does not include <mpi.h> or <hdf5.h>. Loading is local.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "checkpoint/backends.h"
#include "comm/comm.h"
#include "datalog/facts/fact_reader.h"
#include "datalog/facts/fact_writer.h"
#include "datalog/facts/key_streams.h"

namespace stratalog::cli {

// The world of MPI: `session` outlives `comm`.
struct MpiWorld {
  std::shared_ptr<void> session;
  std::unique_ptr<Comm> comm;
};

struct ParallelModule {
  // Starts MPI unless the host has, and duplicates its world. Nodes hold `ranks_per_node`
  // consecutive ranks; 0: as MPI says. Collective over the world.
  Result<MpiWorld> (*enter_world)(int ranks_per_node);
  // Ends all ranks of MPI's world with this code (MPI_Abort).
  void (*end_all)(int code);
  // The MPI-IO and HDF5 writers of checkpoints; where `comm` is not of MPI only the layout of
  // HDF5 files. Local.
  ParallelBackends (*backends)(const Comm& comm);
  // write_hdf5 of datalog/facts/hdf5_output.h. Collective.
  Status (*write_hdf5)(Comm& comm, const std::string& path, const datalog::SortedRelation& sorted);
  // write_hdf5_streams of datalog/facts/hdf5_streams_output.h.
  Status (*write_hdf5_streams)(Comm& comm, const std::string& path,
                               const datalog::SortedRelation& sorted, datalog::StreamFilter filter);
  // read_hdf5 of datalog/facts/hdf5_input.h. Local.
  Result<datalog::ParsedFacts> (*read_hdf5)(const datalog::Hdf5Input& input, NewValues& values);
};

// The table, loaded once. NotSupported with the loader's own reason if the module is not beside the
// program (or in ../lib/stratalog) or does not fit it.
Result<const ParallelModule*> parallel_module();

// Load the module when a file is really read or written; fit datalog::ReadOptions::hdf5 and
// datalog::WriteOptions::hdf5.
Result<datalog::ParsedFacts> read_hdf5_by_module(const datalog::Hdf5Input& input,
                                                 NewValues& values);
Status write_hdf5_by_module(Comm& comm, const std::string& path,
                            const datalog::SortedRelation& sorted);
Status write_streams_by_module(Comm& comm, const std::string& path,
                               const datalog::SortedRelation& sorted, datalog::StreamFilter filter);

}  // namespace stratalog::cli
