# SPDX-License-Identifier: Apache-2.0
# stratalog_parallel: every file that sees <mpi.h> or <hdf5.h> (mpi_*.cc, hdf5_*.cc of any room), and the command line.
find_package(MPI REQUIRED COMPONENTS CXX)
# HDF5 built by CMake brings a configuration file; one built by autotools (cluster modules, Debian) is found by module.
find_package(HDF5 1.14 CONFIG QUIET COMPONENTS C shared PATHS ${HDF5_ROOT} $ENV{HDF5_ROOT} NO_CMAKE_BUILDS_PATH)
if(TARGET hdf5-shared)
  set(stratalog_hdf5 hdf5-shared)
  set(stratalog_hdf5_is_parallel ${HDF5_ENABLE_PARALLEL})
else()
  set(HDF5_PREFER_PARALLEL ON)
  find_package(HDF5 1.14 MODULE REQUIRED COMPONENTS C)
  add_library(stratalog_hdf5 INTERFACE)
  target_include_directories(stratalog_hdf5 INTERFACE ${HDF5_C_INCLUDE_DIRS})
  target_link_libraries(stratalog_hdf5 INTERFACE ${HDF5_C_LIBRARIES})
  set(stratalog_hdf5 stratalog_hdf5)
  set(stratalog_hdf5_is_parallel ${HDF5_IS_PARALLEL})
endif()
if(NOT stratalog_hdf5_is_parallel)
  message(FATAL_ERROR "This HDF5 was built without MPI. Load a parallel HDF5 >= 1.14 (for example `module load "
                      "hdf5-parallel`) or name one with -DHDF5_ROOT=DIR; docs/install.md says more.")
endif()
find_package(Python3 REQUIRED COMPONENTS Interpreter)

file(GLOB parallel_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/*/mpi_*.cc
     ${PROJECT_SOURCE_DIR}/src/*/hdf5_*.cc ${PROJECT_SOURCE_DIR}/src/datalog/*/hdf5_*.cc)
list(REMOVE_ITEM parallel_sources ${PROJECT_SOURCE_DIR}/src/cli/mpi_module.cc)
if(parallel_sources)
  add_library(stratalog_parallel STATIC ${parallel_sources})
  target_link_libraries(stratalog_parallel PUBLIC stratalog_evaluate MPI::MPI_CXX ${stratalog_hdf5})
  # What an object may call depends on the name of its file.
  set_target_properties(stratalog_parallel PROPERTIES UNITY_BUILD OFF)
endif()

# The command: everything but main() is a library, so that its parts can be tested without starting it.
file(GLOB cli_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/cli/*.cc)
list(REMOVE_ITEM cli_sources ${PROJECT_SOURCE_DIR}/src/cli/main.cc ${PROJECT_SOURCE_DIR}/src/cli/mpi_module.cc)
if(cli_sources)
  add_library(stratalog_cli STATIC ${cli_sources})
  target_link_libraries(stratalog_cli PUBLIC stratalog_prove stratalog_functors stratalog_bench stratalog_forecast CLI11::CLI11
                                             ${CMAKE_DL_LIBS})
  stratalog_use_prefix(stratalog_cli seldom)
  target_compile_definitions(stratalog_cli PRIVATE STRATALOG_VERSION="${PROJECT_VERSION}"
                                                   STRATALOG_MPIEXEC="${MPIEXEC_EXECUTABLE}"
                                                   STRATALOG_MODULE_FILE="stratalog_parallel.so"
                                                   STRATALOG_PYTHON_FOLDER="${PROJECT_SOURCE_DIR}/python"
                                                   STRATALOG_PYTHON_PROGRAM="${Python3_EXECUTABLE}")
  file(GLOB cli_unit_tests CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/unit/cli/*_test.cc)
  if(cli_unit_tests AND STRATALOG_TESTS)
    stratalog_test_program(unit_cli SOURCES ${cli_unit_tests} LIBRARIES stratalog_cli GTest::gtest_main)
    set_property(GLOBAL APPEND PROPERTY STRATALOG_UNIT_TESTS unit_cli)
  endif()
endif()
if(EXISTS ${PROJECT_SOURCE_DIR}/src/cli/main.cc)
  add_executable(stratalog ${PROJECT_SOURCE_DIR}/src/cli/main.cc)
  target_link_libraries(stratalog PRIVATE stratalog_cli)
  # MPI and HDF5 are loaded when they are needed (src/cli/parallel_module.h). What the module shares with the program it
  # finds there: ENABLE_EXPORTS makes the program's definitions the only ones.
  set_target_properties(stratalog PROPERTIES ENABLE_EXPORTS ON)
  add_library(stratalog_parallel_module MODULE ${PROJECT_SOURCE_DIR}/src/cli/mpi_module.cc)
  target_link_libraries(stratalog_parallel_module PRIVATE stratalog_parallel)
  set_target_properties(stratalog_parallel_module PROPERTIES PREFIX "" OUTPUT_NAME stratalog_parallel SUFFIX ".so"
                                                  LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}
                                                  INSTALL_RPATH_USE_LINK_PATH ON)
  add_dependencies(stratalog stratalog_parallel_module)
  install(TARGETS stratalog RUNTIME DESTINATION bin)
  install(TARGETS stratalog_parallel_module LIBRARY DESTINATION lib/stratalog)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/python/stratalog_bench DESTINATION share/stratalog/python
          PATTERN __pycache__ EXCLUDE)
endif()
