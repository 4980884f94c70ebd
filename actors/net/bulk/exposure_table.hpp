// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/net/bulk/bulk_ref.hpp"
#include "actors/net/bulk/mapping.hpp"

#include <cstdint>
#include <optional>

namespace troupe {

/// What a process exposes, in a memory file that the other processes of its user can map: so that
/// they can read and write its memory without asking, and still only what is exposed at that
/// moment. What a BulkRef says about memory is never believed; what counts stands here, under its
/// key. The owner's calls are serialised by the owner; the others are safe from any thread.
class ExposureTable {
 public:
  static constexpr std::uint32_t slot_count = 65536;

  struct Entry {
    std::uint64_t version = 0;  ///< changes whenever the slot does
    std::uint64_t address = 0;  ///< in the owner's memory
    std::uint64_t length = 0;
    std::uint64_t file_offset = 0;
    std::int32_t file = -1;  ///< the owner's descriptor of a memory file with the bytes; -1: none
    bool writable = false;
  };

  /// The owner's side.
  [[nodiscard]] static Result<ExposureTable> create(std::uint64_t store);
  void publish(std::uint32_t slot, std::uint64_t key, const Entry& entry);
  void retract(std::uint32_t slot);
  /// Another process is writing to this slot's memory: it must not be used for anything else yet.
  [[nodiscard]] bool is_written_to(std::uint32_t slot) const;
  [[nodiscard]] int fd() const { return fd_.get(); }

  /// The others' side: the table that `ref` names, if it is one and its owner is the process that
  /// `ref` means. Errors: permission_denied, unavailable, corrupt.
  [[nodiscard]] static Result<ExposureTable> open(const BulkRef& ref);
  [[nodiscard]] std::optional<Entry> read(std::uint32_t slot, std::uint64_t key) const;
  /// Nothing has happened to the slot since `version` was read.
  [[nodiscard]] bool still(std::uint32_t slot, std::uint64_t version) const;
  /// Tries to become the only process that writes to the slot's memory; a dead one counts as none.
  [[nodiscard]] bool begin_write(std::uint32_t slot, std::uint64_t claim);
  void end_write(std::uint32_t slot);
  /// What this process writes as its claim.
  [[nodiscard]] static std::uint64_t claim_of_this_process();

 private:
  struct Head;
  struct Slot;
  struct Layout;

  ExposureTable(Fd fd, Mapping mapping);
  [[nodiscard]] Slot& at(std::uint32_t slot) const;

  Fd fd_;
  Mapping mapping_;
};

}  // namespace troupe
