# SPDX-License-Identifier: Apache-2.0
# libstratalog: the rooms that cannot see MPI as one shared library with a C and a C++ interface (docs/library.md), its
# headers, a CMake package and a pkg-config file. Ranks talk through functions that the caller brings, so it fits any MPI.
include(CMakePackageConfigHelpers)

set_property(SOURCE ${PROJECT_SOURCE_DIR}/src/api/stratalog.cc
             PROPERTY COMPILE_DEFINITIONS STRATALOG_VERSION="${PROJECT_VERSION}")
# A library is made of sources; all that there is lies in the rooms, which are linked whole.
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/library.cc CONTENT "// Made by cmake/library.cmake.\n")
add_library(stratalog_library SHARED ${PROJECT_BINARY_DIR}/library.cc)
add_library(stratalog::stratalog ALIAS stratalog_library)
target_link_libraries(stratalog_library PRIVATE $<LINK_LIBRARY:WHOLE_ARCHIVE,stratalog_api>)
# Nothing but the interface is seen from outside, so that two versions of some library in one process do not meet.
set(stratalog_exports ${PROJECT_SOURCE_DIR}/cmake/library.map)
target_link_options(stratalog_library PRIVATE -Wl,--version-script=${stratalog_exports} -Wl,--no-undefined)
set_target_properties(stratalog_library PROPERTIES OUTPUT_NAME stratalog EXPORT_NAME stratalog VERSION ${PROJECT_VERSION}
                                               SOVERSION 0 LINK_DEPENDS ${stratalog_exports}
                                               LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})

# The headers, as they are included from outside: <stratalog/program.h>.
set(stratalog_headers ${PROJECT_BINARY_DIR}/include)
foreach(header api/stratalog.h api/program.h base/status.h base/result.h)
  file(READ ${PROJECT_SOURCE_DIR}/src/${header} text)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${header})
  string(REGEX REPLACE "#include \"(api|base)/" "#include \"stratalog/" text "${text}")
  get_filename_component(name ${header} NAME)
  file(CONFIGURE OUTPUT ${stratalog_headers}/stratalog/${name} CONTENT "${text}" @ONLY)
endforeach()
target_include_directories(stratalog_library INTERFACE $<BUILD_INTERFACE:${stratalog_headers}>
                                                       $<INSTALL_INTERFACE:include>)
target_compile_features(stratalog_library INTERFACE cxx_std_20)

install(TARGETS stratalog_library EXPORT stratalog LIBRARY DESTINATION lib COMPONENT library)
install(DIRECTORY ${stratalog_headers}/stratalog DESTINATION include COMPONENT library)
# What functors of libraries include: as <souffle/SouffleFunctor.h> (docs/language.md).
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/functors/souffle DESTINATION include/stratalog/functors
        COMPONENT library)
set(stratalog_package lib/cmake/stratalog)
install(EXPORT stratalog NAMESPACE stratalog:: FILE stratalog-config.cmake DESTINATION ${stratalog_package}
        COMPONENT library)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/stratalog-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/stratalog-config-version.cmake DESTINATION ${stratalog_package} COMPONENT library)
configure_file(${PROJECT_SOURCE_DIR}/cmake/stratalog.pc.in ${PROJECT_BINARY_DIR}/stratalog.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/stratalog.pc DESTINATION lib/pkgconfig COMPONENT library)

# For the Python package (pyproject.toml): beside its modules, under the one name that they look for.
install(FILES $<TARGET_FILE:stratalog_library> DESTINATION stratalog RENAME libstratalog.so COMPONENT python
        EXCLUDE_FROM_ALL)
