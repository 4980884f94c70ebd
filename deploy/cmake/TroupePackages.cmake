# SPDX-License-Identifier: Apache-2.0
# Everything that we use from outside; deploy/packages.txt names the Debian packages that hold it.

find_package(Threads REQUIRED)
find_package(CAF 0.17 REQUIRED COMPONENTS core OPTIONAL_COMPONENTS io)  # io: to compare with
find_package(CapnProto CONFIG REQUIRED)
find_package(CLI11 CONFIG REQUIRED)
find_package(fmt CONFIG REQUIRED)
find_package(nlohmann_json CONFIG REQUIRED)
find_package(spdlog CONFIG REQUIRED)
find_package(tl-expected CONFIG REQUIRED)
find_package(tomlplusplus CONFIG REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(UCX REQUIRED IMPORTED_TARGET ucx)
pkg_check_modules(SODIUM REQUIRED IMPORTED_TARGET libsodium)
pkg_check_modules(PROMETHEUS REQUIRED IMPORTED_TARGET prometheus-cpp-core)
pkg_check_modules(IBVERBS REQUIRED IMPORTED_TARGET libibverbs)
find_package(SQLite3 3.40 REQUIRED)
find_package(Boost 1.74 CONFIG REQUIRED)  # Beast
if(TROUPE_TESTS)
  find_package(Boost 1.74 CONFIG REQUIRED COMPONENTS unit_test_framework)
endif()
if(TROUPE_TORCH)
  set(CMAKE_MESSAGE_LOG_LEVEL ERROR)  # it warns of a profiler's library that Debian 13 leaves out
  find_package(Torch REQUIRED)
  unset(CMAKE_MESSAGE_LOG_LEVEL)
endif()
