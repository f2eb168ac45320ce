# SPDX-License-Identifier: Apache-2.0
# stratalog_test_program(NAME SOURCES files... LIBRARIES targets...): a GoogleTest program. Most of the time that tests take to
# compile goes into the headers that all of them include, and into optimising what runs once: they share one precompiled
# header and are optimised lightly. The rooms are compiled without either.
# A program, not a library: then it is compiled with the same -fPIE as those that use its header.
add_executable(stratalog_test_prefix ${PROJECT_SOURCE_DIR}/tests/test_prefix.cc)
target_link_libraries(stratalog_test_prefix PRIVATE fmt::fmt GTest::gtest)
target_precompile_headers(stratalog_test_prefix PRIVATE <gtest/gtest.h> <fmt/format.h> <fmt/ranges.h> <functional> <map> <memory> <random>
                          <string> <vector>)

function(stratalog_test_settings target)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
endfunction()
stratalog_test_settings(stratalog_test_prefix)

function(stratalog_test_program name)
  cmake_parse_arguments(TEST "" "" "SOURCES;LIBRARIES" ${ARGN})
  add_executable(${name} ${TEST_SOURCES})
  target_link_libraries(${name} PRIVATE ${TEST_LIBRARIES} GTest::gtest)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  target_compile_definitions(${name} PRIVATE STRATALOG_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  stratalog_test_settings(${name})
  # MPI and HDF5 come with macros of their own, under which the header would be another.
  if(NOT stratalog_parallel IN_LIST TEST_LIBRARIES)
    target_precompile_headers(${name} REUSE_FROM stratalog_test_prefix)
  endif()
endfunction()
