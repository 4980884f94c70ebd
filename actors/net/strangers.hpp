// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/socket.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace troupe {

/// Where a connection comes from, as far as it matters to who may have how many: an IPv4 address,
/// or the first 64 bits of an IPv6 one (whoever has one of those has them all).
[[nodiscard]] std::string origin_of(const sockaddr_storage& address);

/// The connections of others that have not proved the cluster secret yet, of which there may be a
/// limited number. One more takes the place of another, so that those who only hold connections
/// cannot keep a member out: of an origin that has more than its share if there is one; of those
/// one whose first record has not come or was wrong, if there is one; of those the oldest. Used
/// from the transport's thread only.
class Strangers {
 public:
  static constexpr std::size_t limit = 256;
  static constexpr std::size_t share = 32;  ///< of one origin, while others want in

  /// Whose place the next one takes; nothing while there is room.
  [[nodiscard]] std::optional<int> victim() const;
  /// The same, room or not; nothing where there is nobody.
  [[nodiscard]] std::optional<int> least_wanted() const;

  void add(int fd, std::string origin);
  /// Its first record was right; it does not prove anything yet, for it may be a recorded one.
  void greeted(int fd);
  /// It has proved the secret, or is closed.
  void remove(int fd);
  [[nodiscard]] std::size_t count() const { return all_.size(); }

 private:
  struct Stranger {
    std::uint64_t number = 0;  ///< in the order in which they came
    std::string origin;
    bool greeted = false;
  };

  std::map<int, Stranger> all_;
  std::map<std::string, std::size_t> of_origin_;
  std::uint64_t next_number_ = 0;
};

}  // namespace troupe
