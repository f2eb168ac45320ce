# SPDX-License-Identifier: Apache-2.0
# stratalog_room(NAME [DIR dir] [SELDOM] [NEEDS rooms...]): one static library stratalog_NAME from src/DIR/*.cc (DIR defaults to
# NAME), without the files that see MPI or HDF5 (mpi_*.cc, hdf5_*.cc: those go into stratalog_parallel, cmake/mpi.cmake),
# and one test program unit_NAME from tests/unit/NAME/*_test.cc. Empty rooms are skipped, so that rooms can be furnished
# one after another. With SELDOM the room's code runs once in a job or in a round, not for every tuple or block: it is
# optimised lightly, which is a third of the time that it takes to compile.
include(cmake/room_prefix.cmake)
if(STRATALOG_TESTS)
  include(cmake/test_program.cmake)
endif()

set(STRATALOG_ROOM_LIBRARIES "" CACHE INTERNAL "")

function(stratalog_room name)
  cmake_parse_arguments(ROOM "SELDOM" "DIR" "NEEDS" ${ARGN})
  if(NOT ROOM_DIR)
    set(ROOM_DIR ${name})
  endif()
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${ROOM_DIR}/*.cc)
  list(FILTER sources EXCLUDE REGEX "/(mpi|hdf5)_[^/]*\\.cc$")
  set(library stratalog_${name})
  if(sources)
    add_library(${library} STATIC ${sources})
    set(visibility PUBLIC)
    set_property(GLOBAL APPEND PROPERTY STRATALOG_ROOMS ${library})
  else()
    add_library(${library} INTERFACE)
    set(visibility INTERFACE)
  endif()
  target_include_directories(${library} ${visibility} ${PROJECT_SOURCE_DIR}/src)
  foreach(room IN LISTS ROOM_NEEDS)
    target_link_libraries(${library} ${visibility} stratalog_${room})
  endforeach()
  target_link_libraries(${library} ${visibility} fmt::fmt Threads::Threads PkgConfig::XXHASH ZLIB::ZLIB
                                                 nlohmann_json::nlohmann_json)
  if(sources AND ROOM_SELDOM)
    stratalog_use_prefix(${library} seldom)
  elseif(sources)
    stratalog_use_prefix(${library} often)
  endif()

  file(GLOB tests CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/unit/${name}/*_test.cc)
  if(tests AND STRATALOG_TESTS)
    stratalog_test_program(unit_${name} SOURCES ${tests} LIBRARIES ${library} GTest::gtest_main)
    set_property(GLOBAL APPEND PROPERTY STRATALOG_UNIT_TESTS unit_${name})
  endif()
endfunction()
