# SPDX-License-Identifier: Apache-2.0
# Finds the C++ Actor Framework (Debian ships no CMake package with it). Sets CAF_FOUND, CAF_VERSION
# and the imported targets CAF::core and, where the component io is asked for and there, CAF::io.
#
# Only the 0.17 series will do: Troupe defines `caf::net::middleman`, which that series declares a
# friend of the actor system and leaves undefined; every later series defines it itself.

find_path(CAF_INCLUDE_DIR caf/all.hpp)
find_library(CAF_core_LIBRARY caf_core)
if("io" IN_LIST CAF_FIND_COMPONENTS)
  find_library(CAF_io_LIBRARY caf_io)
endif()
if(CAF_INCLUDE_DIR)
  file(STRINGS ${CAF_INCLUDE_DIR}/caf/config.hpp line REGEX "^#define CAF_VERSION [0-9]+")
  if(line MATCHES "CAF_VERSION ([0-9]+)")
    math(EXPR major "${CMAKE_MATCH_1} / 10000")
    math(EXPR minor "(${CMAKE_MATCH_1} / 100) % 100")
    math(EXPR patch "${CMAKE_MATCH_1} % 100")
    set(CAF_VERSION ${major}.${minor}.${patch})
  endif()
  if(CAF_VERSION AND NOT CAF_VERSION MATCHES "^0\\.17\\.")
    message(FATAL_ERROR "Troupe needs CAF 0.17 (Debian's libcaf-dev), and ${CAF_INCLUDE_DIR} has "
      "${CAF_VERSION}: set CAF_INCLUDE_DIR and CAF_core_LIBRARY to a 0.17 installation.")
  endif()
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(CAF
  REQUIRED_VARS CAF_core_LIBRARY CAF_INCLUDE_DIR VERSION_VAR CAF_VERSION)
if(CAF_FOUND AND NOT TARGET CAF::core)
  find_package(Threads REQUIRED)
  add_library(CAF::core UNKNOWN IMPORTED)
  set_target_properties(CAF::core PROPERTIES
    IMPORTED_LOCATION ${CAF_core_LIBRARY} INTERFACE_INCLUDE_DIRECTORIES ${CAF_INCLUDE_DIR}
    INTERFACE_LINK_LIBRARIES Threads::Threads)
endif()
if(CAF_FOUND AND CAF_io_LIBRARY AND NOT TARGET CAF::io)
  add_library(CAF::io UNKNOWN IMPORTED)
  set_target_properties(CAF::io PROPERTIES
    IMPORTED_LOCATION ${CAF_io_LIBRARY} INTERFACE_LINK_LIBRARIES CAF::core)
endif()
