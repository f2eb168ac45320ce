// SPDX-License-Identifier: Apache-2.0
// HDF5's error stack as a sentence, and HDF5 kept from printing it. For hdf5_*.cc files only.
// Local.
#pragma once

#include <hdf5.h>

#include <string_view>

#include "base/status.h"
#include "write/hdf5_handle.h"

namespace stratalog::datalog {

// Keeps HDF5 from printing its error stack while it lives.
class Hdf5Silence {
 public:
  Hdf5Silence();
  Hdf5Silence(const Hdf5Silence&) = delete;
  Hdf5Silence& operator=(const Hdf5Silence&) = delete;
  ~Hdf5Silence();

 private:
  H5E_auto2_t printer_ = nullptr;
  void* printer_data_ = nullptr;
};

// IoError with the innermost sentence of HDF5's error stack, which is then cleared.
Status hdf5_error(std::string_view action);

}  // namespace stratalog::datalog
