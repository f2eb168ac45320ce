// SPDX-License-Identifier: Apache-2.0
#include "write/patient_open.h"

#include <chrono>
#include <thread>

namespace stratalog {

Result<std::unique_ptr<File>> open_patiently(Store& store, const std::string& path, OpenMode mode) {
  constexpr int kWaitsMilliseconds[] = {1, 10, 100, 1000};
  Result<std::unique_ptr<File>> file = store.open(path, mode);
  for (const int wait : kWaitsMilliseconds) {
    if (file.is_ok() || file.status().code() != StatusCode::kNotFound) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(wait));
    // Reading directories drops what the client remembers of them.
    (void)store.list(".");
    const std::size_t slash = path.rfind('/');
    if (slash != std::string::npos) (void)store.list(path.substr(0, slash));
    file = store.open(path, mode);
  }
  return file;
}

}  // namespace stratalog
