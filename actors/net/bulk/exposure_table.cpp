// SPDX-License-Identifier: Apache-2.0
//
// Each slot is a sequence lock: an even version is an exposure, an odd one is none. A reader takes
// the version and the fields, copies the memory, and looks at the version again: where it has
// changed, the copy may be torn and is not used. A writer could harm memory that has become
// something else, so it puts its claim into the slot first and looks at the version afterwards,
// while the owner changes the version first and looks for a claim afterwards; one of the two sees
// the other. Claims of processes that are dead count for nothing.
#include "actors/net/bulk/exposure_table.hpp"

#include "actors/base/assert.hpp"
#include "actors/net/bulk/this_host.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <string>
#include <string_view>

namespace troupe {
namespace {

constexpr std::uint64_t magic = 0x314B4C5542505254ULL;  // "TRPBULK1"
using Word = std::atomic<std::uint64_t>;
static_assert(Word::is_always_lock_free && sizeof(Word) == 8);

// A process as one number: its id and the end of its start time.
std::uint64_t claim_of(pid_t pid, std::uint64_t started) {
  return static_cast<std::uint64_t>(static_cast<std::uint32_t>(pid)) | (started << 32U);
}

bool is_alive(std::uint64_t claim) {
  const auto pid = static_cast<pid_t>(claim & 0xffffffffU);
  const auto started = start_time_of(pid);
  return started && claim_of(pid, *started) == claim;
}

}  // namespace

struct ExposureTable::Head {
  Word magic;
  Word store;
  Word pid;
  Word started;
};

struct ExposureTable::Slot {
  Word version;
  Word key;
  Word address;
  Word length;
  Word file_offset;
  Word file_and_rights;  // descriptor + 1, shifted left by one; lowest bit: writable
  Word writer;
  Word unused;
};

struct ExposureTable::Layout {
  Head head;
  Word unused[4];
  Slot slots[slot_count];
};

ExposureTable::ExposureTable(Fd fd, Mapping mapping)
    : fd_(std::move(fd)), mapping_(std::move(mapping)) {}

ExposureTable::Slot& ExposureTable::at(std::uint32_t slot) const {
  TROUPE_ASSERT(slot < slot_count);
  return reinterpret_cast<Layout*>(mapping_.bytes().data())->slots[slot];
}

Result<ExposureTable> ExposureTable::create(std::uint64_t store) {
  auto fd = make_bulk_file("troupe-bulk", sizeof(Layout));
  if (!fd) return Failure(fd.error());
  auto mapping = Mapping::of(fd->get(), 0, sizeof(Layout), true);
  if (!mapping) return Failure(mapping.error());
  const auto started = start_time_of(::getpid());
  if (!started) return Failure(started.error());
  auto& head = reinterpret_cast<Layout*>(mapping->bytes().data())->head;
  head.store = store;
  head.pid = static_cast<std::uint64_t>(::getpid());
  head.started = *started;
  head.magic = magic;
  ExposureTable table(std::move(*fd), std::move(*mapping));
  return table;
}

void ExposureTable::publish(std::uint32_t number, std::uint64_t key, const Entry& entry) {
  auto& slot = at(number);
  const auto version = slot.version.load() | 1U;  // a fresh slot has version 0 and key 0
  slot.version = version;
  slot.key = key;
  slot.address = entry.address;
  slot.length = entry.length;
  slot.file_offset = entry.file_offset;
  slot.file_and_rights =
      (static_cast<std::uint64_t>(entry.file + 1) << 1U) | (entry.writable ? 1 : 0);
  slot.writer = 0;
  slot.version = version + 1;
}

void ExposureTable::retract(std::uint32_t number) {
  auto& slot = at(number);
  slot.version = slot.version.load() | 1U;
  slot.key = 0;
}

bool ExposureTable::is_written_to(std::uint32_t slot) const {
  const auto claim = at(slot).writer.load();
  return claim != 0 && is_alive(claim);
}

Result<ExposureTable> ExposureTable::open(const BulkRef& ref) {
  const auto path = "/proc/" + std::to_string(ref.pid) + "/fd/" + std::to_string(ref.table);
  // What the link says is looked at first: opening a pipe or a device would do something.
  char link[64];
  const auto length = ::readlink(path.c_str(), link, sizeof link);
  if (length < 0 && (errno == EACCES || errno == EPERM)) {
    return fail(ErrorCode::permission_denied, path + ": " + errno_text(errno));
  }
  if (length < 0) return fail(ErrorCode::unavailable, path + ": " + errno_text(errno));
  if (!std::string_view(link, static_cast<std::size_t>(length)).starts_with("/memfd:troupe-bulk")) {
    return fail(ErrorCode::corrupt, path + " is no table of exposed memory");
  }
  Fd fd(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!fd) return fail(ErrorCode::permission_denied, path + ": " + errno_text(errno));
  auto mapping = Mapping::of(fd.get(), 0, sizeof(Layout), true);
  if (!mapping) return Failure(mapping.error());
  const auto& head = reinterpret_cast<Layout*>(mapping->bytes().data())->head;
  if (head.magic != magic || head.store != ref.store || head.pid != ref.pid ||
      head.started != ref.started) {
    return fail(ErrorCode::corrupt, path + " is not the table that exposes this memory");
  }
  ExposureTable table(std::move(fd), std::move(*mapping));
  return table;
}

std::optional<ExposureTable::Entry> ExposureTable::read(std::uint32_t number,
                                                        std::uint64_t key) const {
  if (number >= slot_count || key == 0) return std::nullopt;
  const auto& slot = at(number);
  Entry entry;
  entry.version = slot.version.load();
  const bool same_key = slot.key.load() == key;
  entry.address = slot.address.load();
  entry.length = slot.length.load();
  entry.file_offset = slot.file_offset.load();
  const auto file = slot.file_and_rights.load();
  entry.file = static_cast<std::int32_t>(file >> 1U) - 1;
  entry.writable = (file & 1U) != 0;
  if (entry.version % 2 != 0 || !same_key || !still(number, entry.version)) return std::nullopt;
  return entry;
}

bool ExposureTable::still(std::uint32_t slot, std::uint64_t version) const {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  return at(slot).version.load() == version;
}

bool ExposureTable::begin_write(std::uint32_t slot, std::uint64_t claim) {
  auto& writer = at(slot).writer;
  std::uint64_t other = 0;
  if (writer.compare_exchange_strong(other, claim)) return true;
  return !is_alive(other) && writer.compare_exchange_strong(other, claim);
}

void ExposureTable::end_write(std::uint32_t slot) { at(slot).writer = 0; }

std::uint64_t ExposureTable::claim_of_this_process() {
  return claim_of(::getpid(), start_time_of(::getpid()).value_or(0));
}

}  // namespace troupe
