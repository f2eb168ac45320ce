// SPDX-License-Identifier: Apache-2.0
// Want of memory as a Status. The standard containers report it by an exception, the only one that
// is expected here. It must not leave a thread, nor what a rank does between two collective calls:
// the others would wait for this one for ever. As this rank's Status it goes to all of them with
// the agreement that follows. Local.
#pragma once

#include <new>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "base/status.h"

namespace stratalog {

// For its users as if memory had ended, but with words of its own: a table that numbers what it
// holds has no number left, or address space is limited.
class NoRoom : public std::bad_alloc {
 public:
  // `text` lives as long as the program.
  explicit NoRoom(const char* text) : text_(text) {}
  const char* what() const noexcept override { return text_; }

 private:
  const char* text_;
};

// For containers: as the standard ones report it.
[[noreturn]] void report_no_memory();
[[noreturn]] void report_full_table();
[[noreturn]] void report_no_address_space();

// What `work`, which returns a Status or a Result, returns; NoSpace with `message` where it found
// no memory, or with those of NoRoom. What it has changed until then stays so.
template <typename Work>
std::invoke_result_t<Work&> or_no_space(std::string_view message, Work&& work) {
  try {
    return work();
  } catch (const NoRoom& reason) {
    return Status::no_space(reason.what());
  } catch (const std::bad_alloc&) {
    return Status::no_space(std::string(message));
  }
}

}  // namespace stratalog
