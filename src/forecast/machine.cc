// SPDX-License-Identifier: Apache-2.0
#include "forecast/machine.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

namespace stratalog {
namespace {

constexpr std::array kFields = {
    MachineField{"ranks_per_node", &Machine::ranks_per_node, MachineUnit::kCount},
    MachineField{"pack_rate", &Machine::pack_rate, MachineUnit::kRate},
    MachineField{"deflate_rate", &Machine::deflate_rate, MachineUnit::kRate},
    MachineField{"deflate_ratio", &Machine::deflate_ratio, MachineUnit::kCount},
    MachineField{"rank_write_rate", &Machine::rank_write_rate, MachineUnit::kRate},
    MachineField{"rank_read_rate", &Machine::rank_read_rate, MachineUnit::kRate},
    MachineField{"node_rate", &Machine::node_rate, MachineUnit::kRate},
    MachineField{"message_seconds", &Machine::message_seconds, MachineUnit::kCost},
    MachineField{"exchange_rate", &Machine::exchange_rate, MachineUnit::kRate},
    MachineField{"servers", &Machine::servers, MachineUnit::kCount},
    MachineField{"server_rate", &Machine::server_rate, MachineUnit::kRate},
    MachineField{"request_bytes", &Machine::request_bytes, MachineUnit::kCount},
    MachineField{"request_seconds", &Machine::request_seconds, MachineUnit::kCost},
    MachineField{"lock_seconds", &Machine::lock_seconds, MachineUnit::kCost},
    MachineField{"sync_seconds", &Machine::sync_seconds, MachineUnit::kCost},
    MachineField{"default_stripes", &Machine::default_stripes, MachineUnit::kCount},
    MachineField{"default_stripe_bytes", &Machine::default_stripe_bytes, MachineUnit::kCount},
    MachineField{"create_seconds", &Machine::create_seconds, MachineUnit::kCost},
    MachineField{"open_seconds", &Machine::open_seconds, MachineUnit::kCost},
    MachineField{"round_trip_seconds", &Machine::round_trip_seconds, MachineUnit::kCost},
    MachineField{"lfs_seconds", &Machine::lfs_seconds, MachineUnit::kCost},
    MachineField{"default_buffer_bytes", &Machine::default_buffer_bytes, MachineUnit::kCount},
    MachineField{"hdf5_file_reads", &Machine::hdf5_file_reads, MachineUnit::kCost},
    MachineField{"hdf5_dataset_reads", &Machine::hdf5_dataset_reads, MachineUnit::kCost},
};

}  // namespace

std::span<const MachineField> machine_fields() { return kFields; }

Status check_machine(const Machine& machine) {
  for (const MachineField& field : kFields) {
    const double value = machine.*field.value;
    const bool may_be_zero = field.unit == MachineUnit::kCost;
    const bool is_count = field.unit == MachineUnit::kCount;
    if (!std::isfinite(value) || value < 0 || (value == 0 && !may_be_zero) ||
        (is_count && value < 1))
      return Status::invalid_argument(fmt::format("machine: {} is {}; it must be {}", field.name,
                                                  value,
                                                  may_be_zero ? "0 or more"
                                                  : is_count  ? "1 or more"
                                                              : "more than 0"));
  }
  return Status::ok();
}

}  // namespace stratalog
