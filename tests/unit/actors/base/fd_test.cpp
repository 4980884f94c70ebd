// SPDX-License-Identifier: Apache-2.0
#include "actors/base/fd.hpp"

#include <boost/test/unit_test.hpp>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

namespace troupe {
namespace {

BOOST_AUTO_TEST_CASE(a_descriptor_is_closed_once_and_only_by_its_owner) {
  int number = -1;
  {
    Fd first(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    number = first.get();
    const Fd second = std::move(first);
    BOOST_TEST(!first);
    BOOST_TEST(::fcntl(number, F_GETFD) >= 0);
  }
  BOOST_TEST(::fcntl(number, F_GETFD) == -1);
}

BOOST_AUTO_TEST_CASE(a_wake_up_stays_signalled_until_it_is_cleared) {
  const WakeUp wake;
  pollfd polled{wake.fd(), POLLIN, 0};
  BOOST_TEST(::poll(&polled, 1, 0) == 0);
  wake.signal();
  wake.signal();
  BOOST_TEST(::poll(&polled, 1, 0) == 1);
  wake.clear();
  BOOST_TEST(::poll(&polled, 1, 0) == 0);
}

BOOST_AUTO_TEST_CASE(a_memory_file_may_have_a_name_of_any_length) {
  BOOST_TEST(make_memfd(std::string(1000, 'n')).has_value());
}

BOOST_AUTO_TEST_CASE(reading_stops_at_the_limit) {
  const auto file = make_memfd("test");
  BOOST_REQUIRE(file);
  BOOST_REQUIRE(::write(file->get(), "0123456789", 10) == 10);
  ::lseek(file->get(), 0, SEEK_SET);
  BOOST_TEST(read_all(file->get(), 10).value() == "0123456789");
  ::lseek(file->get(), 0, SEEK_SET);
  const auto cut = read_all(file->get(), 9);
  BOOST_REQUIRE(!cut);
  BOOST_TEST(cut.error().what == "longer than 9 bytes");
}

}  // namespace
}  // namespace troupe
