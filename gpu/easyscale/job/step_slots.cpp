// SPDX-License-Identifier: Apache-2.0
// Layout: a page with two headers, then two areas of equal capacity. Step n goes to slot n mod 2:
// its header is cleared, its bytes are written, its header is written. Each header carries a
// checksum of itself and of the bytes, so nothing depends on the order in which memory becomes
// visible; writes to a memory file survive the writer's death by SIGKILL as they stand. When a
// state outgrows the capacity (which only happens between jobs, since a job's states are all of one
// size) both slots are given up.
#include "gpu/easyscale/job/step_slots.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

namespace troupe::easyscale {
namespace {

constexpr std::uint64_t magic = 0x31544F4C53505453ULL;  // "STPSLOT1"
constexpr std::uint64_t header_area = 4096;
constexpr std::uint64_t header_distance = 64;  // one cache line each

struct Header {
  std::uint64_t magic = 0;
  std::uint64_t step = 0;
  std::uint64_t size = 0;
  std::uint64_t capacity = 0;
  std::uint64_t checksum = 0;  // of the state
  std::uint64_t seal = 0;      // of the fields above

  friend bool operator==(const Header&, const Header&) = default;
};

// Four lanes of multiply and shift over 32-byte blocks: as fast as memory, and enough against torn
// writes, which is all that it is for.
std::uint64_t checksum_of(std::span<const std::byte> bytes) {
  constexpr std::uint64_t prime = 0x9E3779B97F4A7C15ULL;
  std::uint64_t lane[4] = {1, 2, 3, 4};
  std::uint64_t word[4];
  std::size_t at = 0;
  const auto absorb = [&] {
    for (int i = 0; i < 4; ++i) {
      lane[i] = (lane[i] ^ word[i]) * prime;
      lane[i] ^= lane[i] >> 29U;
    }
  };
  for (; at + sizeof word <= bytes.size(); at += sizeof word) {
    std::memcpy(word, bytes.data() + at, sizeof word);
    absorb();
  }
  std::memset(word, 0, sizeof word);
  if (at < bytes.size()) std::memcpy(word, bytes.data() + at, bytes.size() - at);
  absorb();
  std::uint64_t sum = bytes.size();
  for (const std::uint64_t one : lane) sum = (sum ^ one) * prime;
  return sum ^ (sum >> 32U);
}

Header sealed(Header header) {
  header.seal = 0;
  header.seal = checksum_of(std::as_bytes(std::span(&header, 1)));
  return header;
}

Failure system_error(const std::string& what) {
  return fail(
      errno == ENOMEM || errno == ENOSPC ? ErrorCode::resource_exhausted : ErrorCode::internal,
      "saved step state: " + what + ": " + std::strerror(errno));
}

Result<void> write_at(int fd, std::span<const std::byte> bytes, std::uint64_t offset) {
  while (!bytes.empty()) {
    const ssize_t n = ::pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return system_error("cannot write");
    bytes = bytes.subspan(static_cast<std::size_t>(n));
    offset += static_cast<std::uint64_t>(n);
  }
  return {};
}

Result<void> read_at(int fd, std::span<std::byte> bytes, std::uint64_t offset) {
  while (!bytes.empty()) {
    const ssize_t n = ::pread(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return system_error("cannot read");
    if (n == 0) return fail(ErrorCode::corrupt, "saved step state: cut short");
    bytes = bytes.subspan(static_cast<std::size_t>(n));
    offset += static_cast<std::uint64_t>(n);
  }
  return {};
}

Result<std::uint64_t> size_of(int fd) {
  struct stat info {};
  if (::fstat(fd, &info) != 0) return system_error("cannot look at the file");
  return static_cast<std::uint64_t>(info.st_size);
}

// The header of a slot, if it makes sense in a file of this size.
std::optional<Header> header_at(int fd, std::uint64_t slot, std::uint64_t file_size) {
  Header header;
  if (file_size < header_area) return std::nullopt;
  if (!read_at(fd, std::as_writable_bytes(std::span(&header, 1)), slot * header_distance)) {
    return std::nullopt;
  }
  if (header.magic != magic || header.step % 2 != slot || sealed(header) != header ||
      header.size > header.capacity || file_size < header_area ||
      header.capacity > (file_size - header_area) / 2) {
    return std::nullopt;
  }
  return header;
}

std::uint64_t area(std::uint64_t slot, std::uint64_t capacity) {
  return header_area + slot * capacity;
}

}  // namespace

Result<void> StepSlots::save(std::uint64_t step, std::span<const std::byte> state) {
  const auto file_size = size_of(fd_);
  if (!file_size) return Failure(file_size.error());
  const std::uint64_t slot = step % 2;
  std::uint64_t capacity = *file_size < header_area ? 0 : (*file_size - header_area) / 2;
  if (*file_size < header_area || capacity < state.size()) {
    const std::vector<std::byte> none(header_area);
    capacity = (state.size() + 4095) / 4096 * 4096;
    if (::ftruncate(fd_, static_cast<off_t>(header_area + 2 * capacity)) != 0) {
      return system_error("cannot grow the file");
    }
    if (auto ok = write_at(fd_, none, 0); !ok) return ok;
  }
  Header header{magic, step, state.size(), capacity, checksum_of(state), 0};
  header = sealed(header);
  if (header_at(fd_, slot, header_area + 2 * capacity) == header) return {};
  const Header cleared{};
  const std::uint64_t at = slot * header_distance;
  if (auto ok = write_at(fd_, std::as_bytes(std::span(&cleared, 1)), at); !ok) return ok;
  if (auto ok = write_at(fd_, state, area(slot, capacity)); !ok) return ok;
  return write_at(fd_, std::as_bytes(std::span(&header, 1)), at);
}

Result<std::optional<StepSlots::Saved>> StepSlots::latest() const {
  const auto file_size = size_of(fd_);
  if (!file_size) return Failure(file_size.error());
  std::optional<Saved> best;
  for (std::uint64_t slot = 0; slot < 2; ++slot) {
    const auto header = header_at(fd_, slot, *file_size);
    if (!header || (best && header->step < best->step)) continue;
    Saved saved{header->step, std::vector<std::byte>(header->size)};
    if (!read_at(fd_, saved.state, area(slot, header->capacity))) continue;
    if (checksum_of(saved.state) == header->checksum) best = std::move(saved);
  }
  return best;
}

}  // namespace troupe::easyscale
