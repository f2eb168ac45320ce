// SPDX-License-Identifier: Apache-2.0
#include "cli/text_file.h"

#include <fmt/format.h>

#include <cstdio>
#include <fstream>
#include <sstream>

namespace stratalog::cli {

Status write_text_file(std::string_view option, const std::string& path, std::string_view text) {
  const std::string temporary = path + ".new";
  std::FILE* file = std::fopen(temporary.c_str(), "wb");
  if (file == nullptr)
    return Status::io_error(fmt::format("{}: cannot write {}", option, temporary));
  const bool is_written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  const bool is_closed = std::fclose(file) == 0;
  if (!is_written || !is_closed || std::rename(temporary.c_str(), path.c_str()) != 0) {
    return Status::io_error(fmt::format("{}: cannot write {}", option, path));
  }
  return Status::ok();
}

std::optional<std::string> read_text_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  if (!file || !(text << file.rdbuf()) || file.bad()) return std::nullopt;
  return text.str();
}

}  // namespace stratalog::cli
