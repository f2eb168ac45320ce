// SPDX-License-Identifier: Apache-2.0
#include "write/errno_status.h"

#include <fmt/format.h>

#include <cerrno>
#include <system_error>

namespace stratalog {
namespace {

StatusCode code_of(int error_number) {
  switch (error_number) {
    case ENOSPC:
    case EDQUOT:
      return StatusCode::kNoSpace;
    case ENOENT:
      return StatusCode::kNotFound;
    case EEXIST:
      return StatusCode::kAlreadyExists;
    case ENOSYS:
    case EOPNOTSUPP:
      return StatusCode::kNotSupported;
    default:
      return StatusCode::kIoError;
  }
}

std::string_view advice_for(int error_number) {
  switch (error_number) {
    case ENOSPC:
      return "; free some space or choose another directory";
    case EDQUOT:
      return "; the quota is used up: free some space or choose another directory";
    case EFBIG:
      return "; the limit of file sizes (ulimit -f) or the file system's is reached";
    case EROFS:
      return "; the file system is mounted read-only";
    case EACCES:
    case EPERM:
      return "; check the owner and the permissions of the directory";
    case EMFILE:
    case ENFILE:
      return "; raise the limit of open files (ulimit -n)";
    case ELOOP:
    case ENOTDIR:
      return "; symbolic links are not followed here";
    case ESTALE:
      return "; the network file system lost the file, was it removed elsewhere?";
    default:
      return "";
  }
}

}  // namespace

Status errno_status(int error_number, std::string_view action, std::string_view path) {
  return {code_of(error_number), fmt::format("cannot {} {}: {} (errno {}){}", action, path,
                                             std::generic_category().message(error_number),
                                             error_number, advice_for(error_number))};
}

std::optional<int> errno_in_words(std::string_view words) {
  for (const int number : {ENOSPC, EDQUOT, EFBIG, EROFS})
    if (words.find(std::generic_category().message(number)) != std::string_view::npos)
      return number;
  return {};
}

}  // namespace stratalog
