// SPDX-License-Identifier: Apache-2.0
// The few file operations of the language: reading an included file, and names of files beside
// others. All other files of the language see texts only. Local.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace stratalog::datalog::language {

// The whole regular file without a byte order mark, or nothing when it cannot be read or is larger
// than kMaxExpandedBytes.
std::optional<std::string> read_text_file(const std::string& path);

// The text behind a byte order mark, which some editors put first.
std::string_view without_byte_order_mark(std::string_view text);

bool is_regular_file(const std::string& path);
bool is_directory(const std::string& path);

// The path without links and dots; the path itself when that cannot be told.
std::string canonical_path(const std::string& path);

// "a/b.dl" seen from the file "c/d.dl" is "c/a/b.dl"; absolute paths stay. `.` and `..` are worked
// out on the text.
std::string path_beside(const std::string& file, const std::string& path);

// "c" for "c/d.dl", "/" for "/d.dl", empty for "d.dl".
std::string directory_of(const std::string& file);

}  // namespace stratalog::datalog::language
