// SPDX-License-Identifier: Apache-2.0
// Hdf5Handle: owns one HDF5 identifier. Hdf5Errors: turns HDF5's error stack into a sentence and
// keeps HDF5 from printing. For hdf5_*.cc files only. Local.
#pragma once

#include <hdf5.h>

#include <string>
#include <string_view>
#include <utility>

#include "base/status.h"

namespace stratalog::datalog {

class Hdf5Handle {
 public:
  using Close = herr_t (*)(hid_t);

  Hdf5Handle() = default;
  Hdf5Handle(hid_t id, Close closer) : id_(id), close_(closer) {}
  Hdf5Handle(Hdf5Handle&& other) noexcept
      : id_(std::exchange(other.id_, H5I_INVALID_HID)), close_(other.close_) {}
  Hdf5Handle& operator=(Hdf5Handle&& other) noexcept {
    std::swap(id_, other.id_);
    std::swap(close_, other.close_);
    return *this;
  }
  Hdf5Handle(const Hdf5Handle&) = delete;
  Hdf5Handle& operator=(const Hdf5Handle&) = delete;
  ~Hdf5Handle() { static_cast<void>(close()); }

  hid_t id() const { return id_; }
  bool is_open() const { return id_ >= 0; }
  // Closes now, to learn whether that works.
  herr_t close() {
    const hid_t id = std::exchange(id_, H5I_INVALID_HID);
    return id >= 0 ? close_(id) : 0;
  }

 private:
  hid_t id_ = H5I_INVALID_HID;
  Close close_ = nullptr;
};

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
