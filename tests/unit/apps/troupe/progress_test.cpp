// SPDX-License-Identifier: Apache-2.0
#include "apps/troupe/host/progress.hpp"

#include <boost/test/unit_test.hpp>

namespace troupe {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

Event step(std::int64_t number, double loss = 0.5) {
  return {"step", {{"step", number}, {"steps", std::int64_t{100}}, {"loss", loss}}};
}

BOOST_AUTO_TEST_CASE(a_line_tells_place_rate_time_left_and_loss) {
  Progress progress("digits", false, {});
  const Progress::Time start{};
  (void)progress.on_event(step(10), start);
  const auto line = progress.on_event(step(50), start + seconds(4));
  BOOST_TEST(line == "digits: step 50/100 (50 %), 10.0 steps/s, ETA 5 s, loss 0.5000\n");
}

BOOST_AUTO_TEST_CASE(without_a_terminal_lines_are_few_and_plain) {
  Progress progress("digits", false, {});
  const Progress::Time start{};
  int lines = 0;
  for (int i = 1; i < 100; ++i) {
    const auto text = progress.on_event(step(i), start + milliseconds(100) * i);
    BOOST_TEST(text.find('\r') == std::string::npos);
    lines += text.empty() ? 0 : 1;
  }
  BOOST_TEST(lines == 5);  // one every two seconds
}

BOOST_AUTO_TEST_CASE(on_a_terminal_one_line_renews_itself_and_events_stand_above_it) {
  Progress progress("digits", true, {});
  const auto line = progress.on_event(step(10), {});
  BOOST_TEST(line.starts_with("\r\x1b[K"));
  BOOST_TEST(line.back() != '\n');
  const auto down =
      progress.on_event({"actor_down", {{"path", "/t/1"}, {"why", "killed by signal 9"}}}, {});
  BOOST_TEST(down == "\r\x1b[K/t/1 is down: killed by signal 9\n");
}

BOOST_AUTO_TEST_CASE(the_accuracy_of_the_last_epoch_stays_in_sight) {
  Progress progress("digits", false, {});
  (void)progress.on_event({"epoch", {{"epoch", std::int64_t{1}}, {"test_accuracy", 0.975}}}, {});
  BOOST_TEST(progress.on_event(step(100), {}).find("test accuracy 97.50 %") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(each_of_several_groups_has_a_part_of_the_line) {
  Progress progress("job", false, {}, 2);
  const auto of = [](Event event, const char* path) {
    event.fields.emplace_back("path", path);
    return event;
  };
  BOOST_TEST(progress.on_event(of(step(10), "/jobs/job/a"), {}) ==
             "job/a: step 10/100 (10 %), loss 0.5000\n");
  BOOST_TEST(progress.on_event(of(step(20), "/jobs/job/b"), Progress::Time{} + seconds(3)) ==
             "job/a: step 10/100 (10 %), loss 0.5000; job/b: step 20/100 (20 %), loss 0.5000\n");
  const auto view = of({"view", {{"members", std::int64_t{2}}, {"why", "x"}}}, "/jobs/job/b");
  BOOST_TEST(progress.on_event(view, {}) == "job/b: 2 trainer(s) go on from step 0: x\n");
}

BOOST_AUTO_TEST_CASE(a_job_that_waits_says_for_what) {
  Progress progress("digits", false, {});
  BOOST_TEST(progress.on_event({"waiting", {{"what", "trainer 1 in step 5"}}}, {}) ==
             "digits: waiting for trainer 1 in step 5\n");
}

BOOST_AUTO_TEST_CASE(fields_that_are_missing_or_of_another_type_are_no_fault) {
  Progress progress("digits", false, {});
  BOOST_TEST(progress.on_event({"step", {{"step", "ten"}}}, {}) == "digits: step 0, loss 0.0000\n");
  BOOST_TEST(progress.on_event({"something new", {}}, {}).empty());
}

}  // namespace
}  // namespace troupe
