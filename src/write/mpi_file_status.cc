// SPDX-License-Identifier: Apache-2.0
#include "write/mpi_file_status.h"

#include <fmt/format.h>
#include <mpi.h>

#include <array>

#include "write/errno_status.h"

namespace stratalog {
namespace {

// A switch would not do: an MPI may give several classes the same number.
StatusCode code_of(int error_class) {
  if (error_class == MPI_ERR_NO_SPACE || error_class == MPI_ERR_QUOTA) return StatusCode::kNoSpace;
  if (error_class == MPI_ERR_FILE_EXISTS) return StatusCode::kAlreadyExists;
  if (error_class == MPI_ERR_NO_SUCH_FILE) return StatusCode::kNotFound;
  return StatusCode::kIoError;
}

}  // namespace

Status mpi_file_status(int code, std::string_view call, std::string_view path) {
  if (code == MPI_SUCCESS) return Status::ok();
  int error_class = MPI_ERR_OTHER;
  (void)MPI_Error_class(code, &error_class);
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  if (MPI_Error_string(code, text.data(), &length) != MPI_SUCCESS) length = 0;
  const std::string_view words(text.data(), static_cast<std::size_t>(length));
  if (const auto number = errno_in_words(words))
    return errno_status(*number, fmt::format("finish {} on", call), path);
  return {code_of(error_class), fmt::format("{} on {} failed: {}", call, path, words)};
}

}  // namespace stratalog
