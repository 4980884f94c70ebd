// SPDX-License-Identifier: Apache-2.0
#include "apps/troupe/doctor/isolate.hpp"

#include <boost/test/unit_test.hpp>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>

using namespace troupe;
using namespace troupe::doctor;

namespace {

constexpr Millis ample{30'000};

std::string found(const Findings& findings) {
  return findings.size() == 1 ? findings.front().found : "not one finding";
}

}  // namespace

BOOST_AUTO_TEST_SUITE(isolate)

BOOST_AUTO_TEST_CASE(hands_back_what_a_probe_found) {
  const Findings all = {{"a", Verdict::ok, "1", "x"},
                        {"b", Verdict::missing, "", "y"},
                        {"c", Verdict::note, "2", ""}};
  BOOST_TEST((isolated("probe", ample, [&] { return all; }) == all));
}

BOOST_AUTO_TEST_CASE(carries_more_than_a_pipe_holds) {
  const Findings all(2000, {"what", Verdict::ok, std::string(100, 'f'), "means"});
  BOOST_TEST((isolated("probe", ample, [&] { return all; }) == all));
}

BOOST_AUTO_TEST_CASE(a_probe_that_aborts_becomes_a_finding) {
  const auto findings = isolated("bad", ample, []() -> Findings { std::abort(); });
  BOOST_TEST(findings.front().what == "bad");
  BOOST_TEST((findings.front().verdict == Verdict::note));
  BOOST_TEST(found(findings) == "the probe was ended by Aborted");
}

BOOST_AUTO_TEST_CASE(a_probe_that_throws_becomes_a_finding) {
  BOOST_TEST(found(isolated("bad", ample, []() -> Findings { throw std::runtime_error("why"); })) ==
             "the probe failed: why");
  BOOST_TEST(found(isolated("bad", ample, []() -> Findings { throw 5; })) == "the probe failed");
}

BOOST_AUTO_TEST_CASE(a_probe_that_ends_its_process_becomes_a_finding) {
  BOOST_TEST(found(isolated("bad", ample, []() -> Findings { _exit(0); })) ==
             "the probe ended without an answer");
}

BOOST_AUTO_TEST_CASE(a_probe_that_hangs_is_ended_with_all_that_it_started) {
  int ends[2];
  BOOST_REQUIRE(pipe(ends) == 0);
  const auto findings = isolated("bad", Millis(100), [&]() -> Findings {
    if (fork() >= 0) {
      while (true) pause();
    }
    return {};
  });
  BOOST_TEST(found(findings) == "no answer within 100 ms");
  close(ends[1]);
  char byte = 0;
  BOOST_TEST(read(ends[0], &byte, 1) == 0);  // comes back once nobody holds the other end
  close(ends[0]);
}

BOOST_AUTO_TEST_CASE(output_of_a_probe_goes_nowhere) {
  int ends[2];
  BOOST_REQUIRE(pipe(ends) == 0);
  const int kept = dup(1);
  dup2(ends[1], 1);
  const auto findings = isolated("loud", ample, [] {
    const bool written = write(1, "noise", 5) == 5;
    return Findings{{"loud", Verdict::ok, written ? "wrote" : "could not", ""}};
  });
  dup2(kept, 1);
  close(kept);
  close(ends[1]);
  char byte = 0;
  BOOST_TEST(read(ends[0], &byte, 1) == 0);
  close(ends[0]);
  BOOST_TEST(found(findings) == "wrote");
}

BOOST_AUTO_TEST_SUITE_END()
