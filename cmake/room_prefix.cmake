# SPDX-License-Identifier: Apache-2.0
# stratalog_use_prefix(LIBRARY often|seldom): the headers that nearly every file includes are compiled once for all rooms,
# and code that runs `seldom` is optimised lightly. Files still include what they use: clang-tidy and the check of the headers
# read them without this (devtools/checks/compile_commands.py).
file(GENERATE OUTPUT ${PROJECT_BINARY_DIR}/room_prefix.cc CONTENT "// Somewhere to compile the prefix for.\n")
foreach(use often seldom)
  add_library(stratalog_prefix_${use} OBJECT ${PROJECT_BINARY_DIR}/room_prefix.cc)
  target_link_libraries(stratalog_prefix_${use} PRIVATE fmt::fmt Threads::Threads PkgConfig::XXHASH ZLIB::ZLIB
                                                        nlohmann_json::nlohmann_json)
  target_precompile_headers(stratalog_prefix_${use} PRIVATE <fmt/format.h> <algorithm> <functional> <map> <memory> <optional>
                            <set> <span> <string> <string_view> <vector>)
endforeach()
target_compile_options(stratalog_prefix_seldom PRIVATE $<$<CONFIG:Release>:-O1>)

function(stratalog_use_prefix library use)
  target_precompile_headers(${library} REUSE_FROM stratalog_prefix_${use})
  if(use STREQUAL seldom)
    target_compile_options(${library} PRIVATE $<$<CONFIG:Release>:-O1>)
  endif()
endfunction()
