// SPDX-License-Identifier: Apache-2.0
// The engine goes to machines that have nothing but torch. This binary links the engine alone.
#include <boost/test/unit_test.hpp>

#include <fstream>
#include <string>

namespace {

// Whether a library whose name starts so is loaded in this process.
bool is_loaded(const std::string& name) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    if (line.find("/" + name) != std::string::npos) return true;
  }
  return false;
}

BOOST_AUTO_TEST_CASE(the_engine_needs_torch_and_no_actors_and_no_network) {
  BOOST_TEST(is_loaded("libtorch"));
  for (const char* other : {"libcaf", "libucp", "libuct", "libcapnp", "libkj"}) {
    BOOST_TEST(!is_loaded(other), other);
  }
}

}  // namespace
