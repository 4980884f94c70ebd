// SPDX-License-Identifier: Apache-2.0
#include "actors/core/supervise/host_messages.hpp"

#include "tests/support/why.hpp"

#include <boost/test/unit_test.hpp>

#include <string>
#include <vector>

namespace troupe {
namespace {

/// What a host says of a good launch that was changed.
template <class Change>
std::string refusal(Change&& change) {
  capnp::MallocMessageBuilder message;
  auto launch = message.initRoot<msg::Launch>();
  launch.initSpawn().setPath("/jobs/x/t/0");
  launch.setGroup("/jobs/x/t");
  launch.setNodeName("x.t-0");
  launch.setProgram("troupe-train");
  launch.setLog("x/t/0.log");
  change(launch);
  return test::why(check_launch(launch.asReader()));
}

BOOST_AUTO_TEST_SUITE(host_messages)

BOOST_AUTO_TEST_CASE(a_launch_by_name_with_harmless_variables_is_fine) {
  BOOST_TEST(refusal([](msg::Launch::Builder launch) {
               auto variables = launch.initEnvironment(1);
               variables[0].setName("OMP_NUM_THREADS");
               variables[0].setValue("1");
             }) == "");
}

BOOST_AUTO_TEST_CASE(programs_are_named_and_not_pointed_at) {
  for (const std::string bad : {"/bin/sh", "../sh", "bin/x"}) {
    BOOST_TEST(refusal([&](auto launch) { launch.setProgram(bad); }) ==
               "/jobs/x/t/0: another node may name a program of this one, but no path (" + bad +
                   "); put it beside troupe there and name it");
  }
  for (const auto& bad : {std::string(), std::string("a\nb"), std::string(300, 'a')}) {
    BOOST_TEST(refusal([&](auto launch) { launch.setProgram(bad); }) ==
               "/jobs/x/t/0: a program without a name");
  }
}

BOOST_AUTO_TEST_CASE(logs_stay_below_the_hosts_folder) {
  const std::string long_name(600, 'a');
  for (const auto& bad : {std::string(), std::string("/etc/passwd"), std::string("../x.log"),
                          std::string("a/../../x"), std::string("a/"), std::string("./x"),
                          std::string("a\nb"), long_name}) {
    BOOST_TEST(refusal([&](auto launch) { launch.setLog(bad); }) ==
               "/jobs/x/t/0: its log must be a relative path of plain names");
  }
}

BOOST_AUTO_TEST_CASE(variables_that_could_load_something_are_refused) {
  for (const std::string bad : {"LD_PRELOAD", "UCX_MODULE_DIR", "PATH", ""}) {
    BOOST_TEST(refusal([&](auto launch) { launch.initEnvironment(1)[0].setName(bad); }) ==
               "/jobs/x/t/0: the variable '" + bad + "' may not be set by another node");
  }
  BOOST_TEST(refusal([](auto launch) {
               auto variables = launch.initEnvironment(1);
               variables[0].setName("OMP_NUM_THREADS");
               variables[0].setValue(std::string(1000, '1'));
             }) == "/jobs/x/t/0: the value of OMP_NUM_THREADS is too long");
  BOOST_TEST(refusal([](auto launch) { launch.initEnvironment(100); }) ==
             "/jobs/x/t/0: too many variables");
}

BOOST_AUTO_TEST_CASE(paths_are_those_of_actors) {
  for (const std::string bad : {"", "jobs", "/a\tb"}) {
    BOOST_TEST(refusal([&](auto launch) { launch.getSpawn().setPath(bad); }) ==
               "a launch without a path that an actor can have");
  }
  BOOST_TEST(refusal([](auto launch) { launch.setGroup(std::string(600, 'g')); }) ==
             "/jobs/x/t/0: a group too long");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe
