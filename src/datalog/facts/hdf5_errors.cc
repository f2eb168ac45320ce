// SPDX-License-Identifier: Apache-2.0
#include "datalog/facts/hdf5_errors.h"

#include <fmt/format.h>

#include <string>

#include "write/errno_status.h"

namespace stratalog::datalog {
namespace {

// The stack is walked from the innermost call outwards; the first sentence says most.
herr_t keep_first(unsigned /*number*/, const H5E_error2_t* error, void* sentence) {
  auto& text = *static_cast<std::string*>(sentence);
  if (text.empty() && error->desc != nullptr) text = error->desc;
  return 0;
}

}  // namespace

Hdf5Silence::Hdf5Silence() {
  H5Eget_auto2(H5E_DEFAULT, &printer_, &printer_data_);
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
}

Hdf5Silence::~Hdf5Silence() { H5Eset_auto2(H5E_DEFAULT, printer_, printer_data_); }

Status hdf5_error(std::string_view action) {
  std::string reason;
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, keep_first, &reason);
  H5Eclear2(H5E_DEFAULT);
  if (const auto number = errno_in_words(reason))
    return errno_status(*number, fmt::format("{} with", action), "HDF5");
  return Status::io_error(
      fmt::format("HDF5 cannot {}: {}", action, reason.empty() ? "no reason given" : reason));
}

}  // namespace stratalog::datalog
