// SPDX-License-Identifier: Apache-2.0
#include "actors/net/bulk/mapping.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace troupe {
namespace {

Result<void> check_file(int file, std::uint64_t offset, std::uint64_t length) {
  const int seals = ::fcntl(file, F_GET_SEALS);
  if (seals < 0) return fail(ErrorCode::corrupt, "this is no memory file");
  if ((seals & F_SEAL_SHRINK) == 0)
    return fail(ErrorCode::corrupt, "a memory file that can shrink");
  struct stat info {};
  if (::fstat(file, &info) != 0) return fail(ErrorCode::internal, errno_text(errno));
  const auto size = static_cast<std::uint64_t>(info.st_size);
  if (length == 0 || offset > size || length > size - offset) {
    return fail(ErrorCode::corrupt, "a memory file of " + std::to_string(size) + " bytes has no " +
                                        std::to_string(length) + " at " + std::to_string(offset));
  }
  return {};
}

}  // namespace

Result<Mapping> Mapping::of(int memory_file, std::uint64_t offset, std::uint64_t length,
                            bool writable) {
  if (auto ok = check_file(memory_file, offset, length); !ok) return Failure(ok.error());
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  const auto before = offset % page;
  Mapping mapping;
  const int rights = writable ? PROT_READ | PROT_WRITE : PROT_READ;
  auto* start = ::mmap(nullptr, before + length, rights, MAP_SHARED, memory_file,
                       static_cast<off_t>(offset - before));
  if (start == MAP_FAILED) {
    return fail(ErrorCode::resource_exhausted, "mmap: " + errno_text(errno));
  }
  mapping.start_ = start;
  mapping.size_ = before + length;
  mapping.bytes_ = {static_cast<std::byte*>(start) + before, length};
  return mapping;
}

Mapping::Mapping(Mapping&& other) noexcept
    : start_(std::exchange(other.start_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      bytes_(std::exchange(other.bytes_, {})) {}

Mapping& Mapping::operator=(Mapping&& other) noexcept {
  std::swap(start_, other.start_);
  std::swap(size_, other.size_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

Mapping::~Mapping() {
  if (start_ != nullptr) ::munmap(start_, size_);
}

Result<Fd> make_bulk_file(const std::string& name, std::uint64_t size) {
  Fd fd(::memfd_create(name.c_str(), MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd) return fail(ErrorCode::resource_exhausted, "memfd_create: " + errno_text(errno));
  if (::ftruncate(fd.get(), static_cast<off_t>(size)) != 0) {
    return fail(ErrorCode::resource_exhausted,
                std::to_string(size) + " bytes of shared memory: " + errno_text(errno));
  }
  if (auto ok = forbid_shrinking(fd.get()); !ok) return Failure(ok.error());
  return fd;
}

Result<void> forbid_shrinking(int memory_file) {
  const int seals = ::fcntl(memory_file, F_GET_SEALS);
  if (seals < 0) return fail(ErrorCode::invalid_argument, "only a memory file can be exposed");
  if ((seals & F_SEAL_SHRINK) != 0) return {};
  if (::fcntl(memory_file, F_ADD_SEALS, F_SEAL_SHRINK) != 0) {
    return fail(ErrorCode::invalid_argument,
                "a memory file that is exposed must be made with MFD_ALLOW_SEALING");
  }
  return {};
}

}  // namespace troupe
