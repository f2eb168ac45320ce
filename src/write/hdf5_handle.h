// SPDX-License-Identifier: Apache-2.0
// Hdf5Handle: owns one HDF5 identifier; `closer` is the function for its kind. For hdf5_*.cc files
// only. Local.
#pragma once

#include <hdf5.h>

#include <utility>

namespace stratalog {

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

}  // namespace stratalog
