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

file(GLOB cli_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/cli/*.cc)
if(cli_sources)
  add_executable(stratalog ${cli_sources})
  target_link_libraries(stratalog PRIVATE stratalog_parallel CLI11::CLI11)
  install(TARGETS stratalog RUNTIME DESTINATION bin)
endif()
