// SPDX-License-Identifier: Apache-2.0
#include "actors/core/launcher.hpp"

#include "tests/support/scratch.hpp"
#include "tests/support/wait.hpp"

#include <boost/test/unit_test.hpp>
#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <future>

namespace troupe {
namespace {

ProcessSpec shell(const std::string& script, const std::filesystem::path& log = {}) {
  ProcessSpec spec;
  spec.binary = "/bin/sh";
  spec.arguments = {"-c", script};
  spec.log = log;
  return spec;
}

bool exists(int pid) { return ::kill(pid, 0) == 0; }

BOOST_AUTO_TEST_CASE(tells_how_a_process_ended) {
  Launcher launcher;
  std::promise<std::string> told;
  const auto process =
      launcher.start(shell("exit 3"), [&](const std::string& how) { told.set_value(how); });
  BOOST_REQUIRE(process);
  BOOST_TEST((*process)->wait_for_end(Millis(10000)) == "exit status 3");
  BOOST_TEST(told.get_future().get() == "exit status 3");
  const auto killed = launcher.start(shell("kill -9 $$"), {});
  BOOST_REQUIRE(killed);
  BOOST_TEST((*killed)->wait_for_end(Millis(10000)) == "killed by signal 9 (Killed)");
}

BOOST_AUTO_TEST_CASE(a_dropped_handle_leaves_no_process_behind) {
  Launcher launcher;
  int pid = 0;
  {
    const auto process = launcher.start(shell("trap '' TERM; while :; do sleep 1; done"), {});
    BOOST_REQUIRE(process);
    pid = (*process)->pid();
    BOOST_TEST(exists(pid));
  }
  BOOST_TEST(!exists(pid));
}

BOOST_AUTO_TEST_CASE(descriptors_and_variables_arrive_and_nothing_else_does) {
  const test::Scratch scratch;
  const auto log = scratch / "log";
  auto file = make_memfd("test");
  BOOST_REQUIRE(file);
  BOOST_REQUIRE(::write(file->get(), "handed down", 11) == 11);
  ::lseek(file->get(), 0, SEEK_SET);
  const Fd open_to_all(::open("/dev/null", O_RDONLY));  // not closed on exec
  auto spec = shell("cat <&3; echo \" $GREETING\"; ls /proc/self/fd | tr '\\n' ' '", log);
  spec.descriptors = {file->get()};
  spec.environment = {{"GREETING", "hello"}};
  Launcher launcher;
  const auto process = launcher.start(spec, {});
  BOOST_REQUIRE(process);
  BOOST_TEST((*process)->wait_for_end(Millis(10000)) == "exit status 0");
  // 4 is the folder that ls reads.
  BOOST_TEST(last_complaint(log) == "0 1 2 3 4");
}

BOOST_AUTO_TEST_CASE(a_logs_last_complaint_is_no_mere_information) {
  const test::Scratch scratch;
  const auto log = scratch / "log";
  const std::string begin = "ts=2026-05-01T12:00:00.123Z level=";
  std::ofstream(log) << begin << "error node=n msg=\"cannot read \\\"a b\\\"\"\n"
                     << begin << "info node=n msg=\"digits.host is down\"\n\n";
  BOOST_TEST(last_complaint(log) == "cannot read \"a b\"");
  std::ofstream(log) << "terminate called\n" << begin << "info node=n msg=\"is up\"\n";
  BOOST_TEST(last_complaint(log) == "terminate called");
  std::ofstream(log) << begin << "info node=n msg=\"digits.host is up\"\n";
  BOOST_TEST(last_complaint(log) == "");
  BOOST_TEST(last_complaint(scratch / "nowhere") == "");
}

BOOST_AUTO_TEST_CASE(whoever_is_killed_has_not_ended_by_itself) {
  BOOST_TEST(ended_by_itself("exit status 3"));
  BOOST_TEST(ended_by_itself("killed by signal 11 (Segmentation fault)"));
  BOOST_TEST(!ended_by_itself("killed by signal 9 (Killed)"));
  BOOST_TEST(!ended_by_itself("killed by signal 15 (Terminated)"));
}

BOOST_AUTO_TEST_CASE(a_program_that_is_not_there_is_an_error_that_names_it) {
  Launcher launcher;
  ProcessSpec spec;
  spec.binary = "/nonexistent/program";
  const auto process = launcher.start(spec, {});
  BOOST_REQUIRE(!process);
  BOOST_TEST(process.error().what.find("/nonexistent/program") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_terminals_interrupt_does_not_reach_the_processes) {
  Launcher launcher;
  const auto process = launcher.start(shell("sleep 60"), {});
  BOOST_REQUIRE(process);
  BOOST_TEST(::getpgid((*process)->pid()) == (*process)->pid());
  BOOST_TEST(::getpgid((*process)->pid()) != ::getpgrp());
}

}  // namespace
}  // namespace troupe
