// SPDX-License-Identifier: Apache-2.0
// Text files that the command writes beside its results (reports, profiles, pages), and those that
// it reads whole. A reader finds the old file or the whole new one. Local.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"

namespace stratalog::cli {

// Whether this is no file of its own: standard output and other open files, terminals, pipes. They
// are written to, never replaced.
bool is_written_in_place(const std::string& path);

// Where a file lies that is named through symbolic links, also through one that leads to nothing
// yet.
std::string end_of_links(const std::string& path);

// Replaces the file, at the end of links, by way of PATH.new, which takes its mode; standard
// output, terminals and pipes are written to. IoError names the option that asked for it.
Status write_text_file(std::string_view option, const std::string& path, std::string_view text);

// Nothing if the file cannot be read; whoever asks knows what it was to hold.
std::optional<std::string> read_text_file(const std::string& path);

}  // namespace stratalog::cli
