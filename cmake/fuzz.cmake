# SPDX-License-Identifier: Apache-2.0
# libFuzzer programs fuzz_NAME from tests/fuzz/NAME_fuzz.cc. Needs clang; build with the `fuzz` preset.
file(GLOB fuzz_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/fuzz/*_fuzz.cc)
foreach(source IN LISTS fuzz_sources)
  get_filename_component(name ${source} NAME_WE)
  string(REPLACE "_fuzz" "" name ${name})
  add_executable(fuzz_${name} ${source})
  target_compile_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
  target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
  target_link_libraries(fuzz_${name} PRIVATE stratalog_facts stratalog_language stratalog_commit
                                            stratalog_profile)
endforeach()
