# SPDX-License-Identifier: Apache-2.0
# What `cmake --install` puts where, and the package files that make `find_package(Troupe)` work.
#
# Libraries that need torch are a component of their own, so that a program without torch does not
# have to have it: `find_package(Troupe COMPONENTS torch)`.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# Sets `result` to whether the target links torch, itself or through targets of ours.
function(troupe_links_torch target result)
  set(${result} FALSE PARENT_SCOPE)
  get_target_property(links ${target} INTERFACE_LINK_LIBRARIES)
  foreach(link ${links})
    string(REGEX REPLACE "^\\$<LINK_ONLY:(.*)>$" "\\1" link "${link}")
    if(link MATCHES "^(torch|torch_.*)$|libtorch|libc10")
      set(${result} TRUE PARENT_SCOPE)
    elseif(TARGET ${link} AND link MATCHES "^troupe_")
      troupe_links_torch(${link} through)
      if(through)
        set(${result} TRUE PARENT_SCOPE)
      endif()
    endif()
  endforeach()
endfunction()

get_property(libraries GLOBAL PROPERTY TROUPE_LIBRARIES)
get_property(programs GLOBAL PROPERTY TROUPE_PROGRAMS)
set(exports "")
foreach(library ${libraries})
  troupe_links_torch(${library} torch)
  if(torch)
    set(export TroupeTorchTargets)
  else()
    set(export TroupeTargets)
  endif()
  list(APPEND exports ${export})
  string(REGEX REPLACE "^troupe_" "" short ${library})
  set_target_properties(${library} PROPERTIES EXPORT_NAME ${short})
  install(TARGETS ${library} EXPORT ${export} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
endforeach()
if(programs)
  install(TARGETS ${programs} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()

# Headers and schemas keep their place under the include root, so include lines are the same.
set(include_root ${CMAKE_INSTALL_INCLUDEDIR}/troupe)
foreach(room messages actors gpu apps)
  if(IS_DIRECTORY ${PROJECT_SOURCE_DIR}/${room})
    install(DIRECTORY ${PROJECT_SOURCE_DIR}/${room} DESTINATION ${include_root}
      FILES_MATCHING PATTERN "*.hpp" PATTERN "*.capnp")
  endif()
endforeach()
install(DIRECTORY ${PROJECT_BINARY_DIR}/generated/messages DESTINATION ${include_root}
  FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")

set(share ${CMAKE_INSTALL_DATADIR}/troupe)
file(GLOB examples CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/apps/examples/*.toml)
install(FILES ${examples} DESTINATION ${share}/examples)
install(FILES ${PROJECT_SOURCE_DIR}/data/digits.csv.gz DESTINATION ${share}/data OPTIONAL)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/README.md DESTINATION ${share})

set(package ${CMAKE_INSTALL_LIBDIR}/cmake/Troupe)
list(REMOVE_DUPLICATES exports)
foreach(export ${exports})
  install(EXPORT ${export} NAMESPACE Troupe:: DESTINATION ${package})
endforeach()
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/TroupeConfig.cmake.in
  ${PROJECT_BINARY_DIR}/TroupeConfig.cmake INSTALL_DESTINATION ${package})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/TroupeConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/TroupeConfig.cmake ${PROJECT_BINARY_DIR}/TroupeConfigVersion.cmake
  ${CMAKE_CURRENT_LIST_DIR}/FindCAF.cmake DESTINATION ${package})
