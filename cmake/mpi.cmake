# SPDX-License-Identifier: Apache-2.0
# stratalog_parallel: every file that sees <mpi.h> or <hdf5.h> (mpi_*.cc, hdf5_*.cc of any room), and the command line.
find_package(MPI REQUIRED COMPONENTS CXX)
set(HDF5_PREFER_PARALLEL ON)
find_package(HDF5 1.14 CONFIG REQUIRED COMPONENTS C shared PATHS ${HDF5_ROOT} $ENV{HDF5_ROOT} NO_CMAKE_BUILDS_PATH)
find_package(Python3 REQUIRED COMPONENTS Interpreter)

file(GLOB parallel_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/*/mpi_*.cc
     ${PROJECT_SOURCE_DIR}/src/*/hdf5_*.cc ${PROJECT_SOURCE_DIR}/src/datalog/*/hdf5_*.cc)
if(parallel_sources)
  add_library(stratalog_parallel STATIC ${parallel_sources})
  target_link_libraries(stratalog_parallel PUBLIC stratalog_evaluate MPI::MPI_CXX hdf5-shared)
endif()

# The command: everything but main() is a library, so that its parts can be tested without starting it.
file(GLOB cli_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/cli/*.cc)
list(REMOVE_ITEM cli_sources ${PROJECT_SOURCE_DIR}/src/cli/main.cc)
if(cli_sources)
  add_library(stratalog_cli STATIC ${cli_sources})
  target_link_libraries(stratalog_cli PUBLIC stratalog_parallel CLI11::CLI11)
  target_compile_definitions(stratalog_cli PRIVATE STRATALOG_VERSION="${PROJECT_VERSION}"
                                                   STRATALOG_MPIEXEC="${MPIEXEC_EXECUTABLE}")
  file(GLOB cli_unit_tests CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/unit/cli/*_test.cc)
  if(cli_unit_tests)
    add_executable(unit_cli ${cli_unit_tests})
    target_link_libraries(unit_cli PRIVATE stratalog_cli GTest::gtest GTest::gtest_main)
    set_property(GLOBAL APPEND PROPERTY STRATALOG_UNIT_TESTS unit_cli)
  endif()
endif()
if(EXISTS ${PROJECT_SOURCE_DIR}/src/cli/main.cc)
  add_executable(stratalog ${PROJECT_SOURCE_DIR}/src/cli/main.cc)
  target_link_libraries(stratalog PRIVATE stratalog_cli)
  install(TARGETS stratalog RUNTIME DESTINATION bin)
endif()
