// SPDX-License-Identifier: Apache-2.0
#include "comm/mpi_status.h"

#include <fmt/format.h>
#include <mpi.h>

#include <array>

namespace stratalog {

Status mpi_status(int code, std::string_view call) {
  if (code == MPI_SUCCESS) return Status::ok();
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  if (MPI_Error_string(code, text.data(), &length) != MPI_SUCCESS) length = 0;
  return Status::internal(
      fmt::format("{} failed with code {}: {}", call, code,
                  std::string_view(text.data(), static_cast<std::size_t>(length))));
}

}  // namespace stratalog
