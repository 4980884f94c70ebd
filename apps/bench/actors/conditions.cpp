// SPDX-License-Identifier: Apache-2.0
#include "apps/bench/actors/conditions.hpp"

#include "messages/version.hpp"

#include <caf/config.hpp>
#include <capnp/common.h>
#include <sys/utsname.h>
#include <ucp/api/ucp.h>

#include <cstdlib>
#include <fstream>
#include <thread>

namespace troupe::bench {
namespace {

std::string processor() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("model name", 0) == 0) return line.substr(line.find(':') + 2);
  }
  return "unknown";
}

std::string dotted(int version) {
  return std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
         std::to_string(version % 100);
}

Json::Object settings() {
  Json::Object found;
  for (const char* name : {"UCX_TLS", "UCX_NET_DEVICES", "UCX_RNDV_THRESH", "UCX_TCP_TX_SEG_SIZE",
                           "UCX_MAX_RNDV_RAILS", "UCX_KEEPALIVE_INTERVAL"}) {
    if (const char* value = std::getenv(name)) found.emplace_back(name, value);
  }
  return found;
}

}  // namespace

std::string load_average() {
  std::ifstream file("/proc/loadavg");
  std::string one;
  std::string five;
  std::string fifteen;
  file >> one >> five >> fifteen;
  return one + " " + five + " " + fifteen;
}

Json::Object conditions() {
  utsname system{};
  ::uname(&system);
  return {
      {"processor", processor()},
      {"cores", std::thread::hardware_concurrency()},
      {"kernel", std::string(system.sysname) + " " + system.release},
      {"troupe", program_version},
      {"caf", dotted(CAF_VERSION)},
      {"ucx", ucp_get_version_string()},
      {"capnp",
       dotted(CAPNP_VERSION_MAJOR * 10000 + CAPNP_VERSION_MINOR * 100 + CAPNP_VERSION_MICRO)},
      {"compiler", __VERSION__},
      {"network", "loopback, all processes on this machine"},
      {"wait_mode", "event descriptor, no busy polling"},
      {"ucx_settings", settings()},
  };
}

}  // namespace troupe::bench
