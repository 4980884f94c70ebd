// SPDX-License-Identifier: Apache-2.0
#include "gpu/easyscale/job/step_slots.hpp"

#include "gpu/easyscale/job/sampler.hpp"

#include <boost/test/unit_test.hpp>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>

namespace troupe::easyscale {
namespace {

class MemoryFile {
 public:
  MemoryFile() : fd_(::memfd_create("slots", MFD_CLOEXEC)) {}
  ~MemoryFile() { ::close(fd_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  [[nodiscard]] int fd() const { return fd_; }
  [[nodiscard]] std::size_t size() const {
    struct stat info {};
    ::fstat(fd_, &info);
    return static_cast<std::size_t>(info.st_size);
  }
  void flip(std::size_t at) const {
    char byte = 0;
    BOOST_REQUIRE(::pread(fd_, &byte, 1, static_cast<off_t>(at)) == 1);
    byte = static_cast<char>(byte ^ 0x10);
    BOOST_REQUIRE(::pwrite(fd_, &byte, 1, static_cast<off_t>(at)) == 1);
  }

 private:
  int fd_;
};

std::vector<std::byte> state_of(std::uint64_t step, std::size_t size) {
  std::vector<std::byte> out(size);
  for (std::size_t i = 0; i < size; ++i) out[i] = static_cast<std::byte>(random_at(step, i));
  return out;
}

BOOST_AUTO_TEST_CASE(an_empty_file_holds_nothing) {
  const MemoryFile file;
  BOOST_TEST(!StepSlots(file.fd()).latest()->has_value());
}

BOOST_AUTO_TEST_CASE(the_newest_of_the_saved_states_is_found) {
  const MemoryFile file;
  StepSlots slots(file.fd());
  for (std::uint64_t step = 0; step < 5; ++step) {
    BOOST_REQUIRE(slots.save(step, state_of(step, 10007)));
    const auto found = StepSlots(file.fd()).latest();
    BOOST_REQUIRE(found->has_value());
    BOOST_TEST((*found)->step == step);
    BOOST_TEST(((*found)->state == state_of(step, 10007)));
  }
}

BOOST_AUTO_TEST_CASE(a_damaged_newer_state_leaves_the_older_one) {
  const std::size_t size = 5000;
  // Any byte of slot 1's header, or of its state, which starts after the header page and slot 0.
  for (const std::size_t at : {64UL, 75UL, 90UL, 100UL, 4096 + 8192 + 0UL, 4096 + 8192 + 4999UL}) {
    const MemoryFile file;
    StepSlots slots(file.fd());
    BOOST_REQUIRE(slots.save(4, state_of(4, size)));
    BOOST_REQUIRE(slots.save(5, state_of(5, size)));
    BOOST_REQUIRE(file.size() == 4096U + 2 * 8192U);
    file.flip(at);
    const auto found = slots.latest();
    BOOST_REQUIRE(found->has_value());
    BOOST_TEST((*found)->step == 4U, "byte " << at);
    BOOST_TEST(((*found)->state == state_of(4, size)));
  }
}

BOOST_AUTO_TEST_CASE(a_writer_that_stops_half_way_leaves_the_older_state) {
  const MemoryFile file;
  StepSlots slots(file.fd());
  BOOST_REQUIRE(slots.save(8, state_of(8, 4096)));
  BOOST_REQUIRE(slots.save(9, state_of(9, 4096)));
  const std::array<std::byte, 48> cleared{};  // as a save of step 10 begins
  BOOST_REQUIRE(::pwrite(file.fd(), cleared.data(), cleared.size(), 0) == 48);
  const auto half = state_of(10, 1000);
  BOOST_REQUIRE(::pwrite(file.fd(), half.data(), half.size(), 4096) == 1000);
  BOOST_TEST(slots.latest()->value().step == 9U);
}

BOOST_AUTO_TEST_CASE(a_larger_state_makes_the_file_grow) {
  const MemoryFile file;
  StepSlots slots(file.fd());
  BOOST_REQUIRE(slots.save(0, state_of(0, 10)));
  BOOST_REQUIRE(slots.save(1, state_of(1, 100000)));
  const auto found = slots.latest();
  BOOST_TEST((*found)->step == 1U);
  BOOST_TEST(((*found)->state == state_of(1, 100000)));
}

BOOST_AUTO_TEST_CASE(garbage_and_cut_files_hold_nothing) {
  const MemoryFile file;
  const auto noise = state_of(3, 20000);
  BOOST_REQUIRE(::pwrite(file.fd(), noise.data(), noise.size(), 0) == 20000);
  BOOST_TEST(!StepSlots(file.fd()).latest()->has_value());
  const MemoryFile cut;
  StepSlots slots(cut.fd());
  BOOST_REQUIRE(slots.save(1, state_of(1, 9000)));
  BOOST_REQUIRE(::ftruncate(cut.fd(), 4096 + 9000) == 0);
  BOOST_TEST(!slots.latest()->has_value());
}

BOOST_AUTO_TEST_CASE(a_bad_descriptor_is_an_error) {
  BOOST_TEST(!StepSlots(-1).latest());
  BOOST_TEST(!StepSlots(-1).save(0, state_of(0, 8)));
}

}  // namespace
}  // namespace troupe::easyscale
