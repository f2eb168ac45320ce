# SPDX-License-Identifier: Apache-2.0
# Registers every test program with CTest. Labels: unit, property, fault, mpi, cli, python. Timeouts are for what hangs: ten
# times what a test takes on a machine that does other things as well.
get_property(unit_tests GLOBAL PROPERTY STRATALOG_UNIT_TESTS)
foreach(program IN LISTS unit_tests)
  add_test(NAME ${program} COMMAND ${program})
  set_tests_properties(${program} PROPERTIES LABELS unit TIMEOUT 1500)
endforeach()

# tests/property and tests/fault: one program each file, linked with all rooms that cannot see MPI.
# Those of faults write HDF5 files as well.
foreach(kind property fault)
  if(kind STREQUAL fault AND NOT TARGET stratalog_parallel)
    continue()
  endif()
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/${kind}/*_test.cc)
  foreach(source IN LISTS sources)
    get_filename_component(name ${source} NAME_WE)
    set(libraries stratalog_evaluate GTest::gtest_main)
    if(kind STREQUAL fault)
      # hdf5-direct lays its files out with the HDF5 library, without MPI processes.
      list(APPEND libraries stratalog_parallel)
    endif()
    stratalog_test_program(${kind}_${name} SOURCES ${source} LIBRARIES ${libraries})
    add_test(NAME ${kind}_${name} COMMAND ${kind}_${name})
    # The longest are begun first, so that no processor waits for the other one at the end.
    set_tests_properties(${kind}_${name} PROPERTIES LABELS ${kind} TIMEOUT 2400 COST 50)
  endforeach()
endforeach()

# For campaigns; not built by default.
add_executable(write_programs EXCLUDE_FROM_ALL tests/property/write_programs.cc)
target_link_libraries(write_programs PRIVATE stratalog_language)
target_include_directories(write_programs PRIVATE ${PROJECT_SOURCE_DIR}/tests)

# For bench/scaling; not built by default.
add_executable(scaling_runs EXCLUDE_FROM_ALL bench/scaling/scaling_runs.cc)
target_link_libraries(scaling_runs PRIVATE stratalog_evaluate)

# For bench/streams and bench/goals_checkpoint.py; not built by default.
include(${PROJECT_SOURCE_DIR}/bench/streams/CMakeLists.txt)

if(STRATALOG_MPI)
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/mpi/*_test.cc)
  foreach(source IN LISTS sources)
    get_filename_component(name ${source} NAME_WE)
    stratalog_test_program(mpi_${name} SOURCES ${source} LIBRARIES stratalog_evaluate stratalog_parallel)
    foreach(ranks 1 2 3 4 7)
      add_test(NAME mpi_${name}_${ranks}
               COMMAND ${MPIEXEC_EXECUTABLE} -n ${ranks} $<TARGET_FILE:mpi_${name}>)
      set_tests_properties(
        mpi_${name}_${ranks}
        PROPERTIES LABELS mpi TIMEOUT 1500 PROCESSORS ${ranks} ENVIRONMENT
                   "MPIR_CVAR_CH4_PROGRESS_THROTTLE=1;MPIR_CVAR_CH4_PROGRESS_THROTTLE_NO_PROGRESS_COUNT=10;MPIR_CVAR_ENABLE_HEAVY_YIELD=1")
    endforeach()
  endforeach()

  find_program(STRATALOG_H5DUMP h5dump HINTS ${HDF5_ROOT}/bin $ENV{HDF5_ROOT}/bin ${HDF5_DIR}/../bin ${HDF5_DIR}/../../../bin)
  if(NOT STRATALOG_H5DUMP)
    set(STRATALOG_H5DUMP "")  # its tests are skipped
  endif()

  # The command from outside, one test for each file. They start ranks, which wait for each other more than they work.
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/cli/test_*.py)
  foreach(source IN LISTS sources)
    get_filename_component(name ${source} NAME_WE)
    string(REPLACE test_ cli_ name ${name})
    add_test(NAME ${name} COMMAND ${Python3_EXECUTABLE} -m pytest -q ${source})
    set_tests_properties(
      ${name}
      PROPERTIES LABELS cli TIMEOUT 3600 COST 20 ENVIRONMENT
                 "STRATALOG=$<TARGET_FILE:stratalog>;STRATALOG_LIBRARY=$<TARGET_FILE:stratalog_library>;MPIEXEC=${MPIEXEC_EXECUTABLE};H5DUMP=${STRATALOG_H5DUMP};MPIR_CVAR_CH4_PROGRESS_THROTTLE=1;MPIR_CVAR_CH4_PROGRESS_THROTTLE_NO_PROGRESS_COUNT=10;MPIR_CVAR_ENABLE_HEAVY_YIELD=1")
  endforeach()
endif()
