// SPDX-License-Identifier: Apache-2.0
// Machine: what the cost model knows of a cluster and its striped file system: processes, messages,
// data servers, a metadata server. Plain numbers in bytes and seconds; python/stratalog_bench/
// machines.json has them for the papers' machines, each with where it comes from. Pure; local.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/status.h"

namespace stratalog {

// Rates are bytes/second, seconds are per operation.
struct Machine {
  // A process and its node.
  double ranks_per_node = 1;
  double pack_rate = 1;  // bytes of rows that a rank walks out of its index
  double deflate_rate = 1;  // bytes of rows into deflate 1
  double deflate_ratio = 1;  // bytes of rows per byte that deflate 1 leaves
  double rank_write_rate = 1;  // of one process into a file
  double rank_read_rate = 1;
  double node_rate = 1;  // of a node's processes together, to and from servers
  // Messages between processes.
  double message_seconds = 0;  // of one message at the process that has the most of them
  double exchange_rate = 1;  // bytes that one process sends or receives
  // Data servers.
  double servers = 1;
  double server_rate = 1;  // of each
  double request_bytes = 1;  // the largest that one request carries
  double request_seconds = 0;  // of a server, for each request
  double lock_seconds = 0;  // of a server, each time that a stripe's lock goes to another client
  double sync_seconds = 0;  // of an fsync, beyond the bytes
  double default_stripes = 1;  // servers of a file without striping of its own
  double default_stripe_bytes = 1;
  // The metadata server, which serves one request after another.
  double create_seconds = 0;  // creating a file, renaming, removing
  double open_seconds = 0;  // opening one that exists
  double round_trip_seconds = 0;  // what a client waits beyond that
  double lfs_seconds = 0;  // of one `lfs setstripe`: a process, and what it asks that server
  // MPI-IO without hints.
  double default_buffer_bytes = 1;  // cb_buffer_size
  // Requests that each process makes when it opens an HDF5 file: of the file, and of each data set.
  double hdf5_file_reads = 0;
  double hdf5_dataset_reads = 0;
};

// Rates are above 0, costs 0 or more, counts 1 or more.
enum class MachineUnit : std::uint8_t { kRate, kCost, kCount };

struct MachineField {
  std::string_view name;  // as in machines.json
  double Machine::* value;
  MachineUnit unit;
};

// Every member of Machine.
std::span<const MachineField> machine_fields();

// InvalidArgument names the first field that is no positive number (seconds: not negative).
Status check_machine(const Machine& machine);

}  // namespace stratalog
