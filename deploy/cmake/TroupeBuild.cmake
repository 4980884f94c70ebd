# SPDX-License-Identifier: Apache-2.0
# Compiler settings and the functions by which rooms declare what they build.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_FLAGS_RELEASE "-O2")  # no -DNDEBUG: assertions stay on; no -g: two cores build this
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)

find_program(TROUPE_CCACHE ccache)
if(TROUPE_CCACHE)
  # Without these a clone in another folder would compile everything anew.
  set(settings CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1
      CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime)
  foreach(language C CXX)
    set(CMAKE_${language}_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env ${settings} ${TROUPE_CCACHE})
  endforeach()
endif()

add_library(troupe_options INTERFACE)
target_compile_options(troupe_options INTERFACE
  $<BUILD_INTERFACE:-Wall;-Wextra;-Wno-missing-field-initializers>)
target_include_directories(troupe_options INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}> $<INSTALL_INTERFACE:include/troupe>)
if(TROUPE_SANITIZE)
  # CAF's init_fun_factory binds a null reference: its fault, not ours.
  set(sanitizers -fsanitize=address,undefined -fno-sanitize=null,vptr -fno-omit-frame-pointer)
  target_compile_options(troupe_options INTERFACE ${sanitizers})
  target_link_options(troupe_options INTERFACE ${sanitizers})
endif()

if(TROUPE_FUZZ)
  target_compile_options(troupe_options INTERFACE -fsanitize=fuzzer-no-link)
endif()

set_property(GLOBAL PROPERTY TROUPE_LIBRARIES troupe_options)

# troupe_library(NAME SOURCES a.cpp ... LINK lib ...): a static library that is installed and exported.
function(troupe_library name)
  cmake_parse_arguments(arg "" "" "SOURCES;LINK" ${ARGN})
  add_library(${name} STATIC ${arg_SOURCES})
  target_link_libraries(${name} PUBLIC troupe_options ${arg_LINK})
  set_property(GLOBAL APPEND PROPERTY TROUPE_LIBRARIES ${name})
endfunction()

# troupe_program(NAME SOURCES a.cpp ... LINK lib ...): a program that is installed.
function(troupe_program name)
  cmake_parse_arguments(arg "" "" "SOURCES;LINK" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE troupe_options ${arg_LINK})
  set_property(GLOBAL APPEND PROPERTY TROUPE_PROGRAMS ${name})
endfunction()

# troupe_test(NAME SOURCES a_test.cpp ... LINK lib ... [TIMEOUT s]): one Boost.Test binary, one ctest entry.
function(troupe_test name)
  cmake_parse_arguments(arg "" "TIMEOUT" "SOURCES;LINK" ${ARGN})
  add_executable(${name} ${arg_SOURCES} ${PROJECT_SOURCE_DIR}/tests/support/test_main.cpp)
  target_link_libraries(${name} PRIVATE troupe_options ${arg_LINK} Boost::unit_test_framework)
  target_compile_definitions(${name} PRIVATE BOOST_TEST_DYN_LINK)
  add_test(NAME ${name} COMMAND ${name} --color_output=no --report_level=short)
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 90)
  endif()
  set_tests_properties(${name} PROPERTIES TIMEOUT ${arg_TIMEOUT})
endfunction()
