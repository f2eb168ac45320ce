// SPDX-License-Identifier: Apache-2.0
// From errno to Status: which code an error of the file system gets, and the sentence with path,
// errno and advice. Pure; local.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"

namespace stratalog {

// `action` completes "cannot ...", for example "write 12 bytes at offset 4096 to".
Status errno_status(int error_number, std::string_view action, std::string_view path);

// The error that a library tells of in words only, among others that say nothing to a user (calls,
// addresses): the errno of a full disk or quota, a file that is too large or a file system that is
// read-only. Nothing for others.
std::optional<int> errno_in_words(std::string_view words);

}  // namespace stratalog
