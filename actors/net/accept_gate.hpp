// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace troupe {

/// UCX listens on TCP ports of its own and trusts whatever arrives there: one crafted packet ends
/// the process. The gate stands before it: this library defines accept(), which UCX calls, and
/// closes the connections of strangers before UCX reads a byte. On loopback only processes of this
/// user pass, elsewhere only addresses that were let in. Sockets that are not UCX's pass untouched.
///
/// The gate is one for the process, as accept() is; all functions are safe from any thread.
namespace accept_gate {

/// The listening sockets of this process that are not guarded yet. Take one before UCX makes its
/// worker; guard_since() then guards all that came in between.
class Snapshot {
 public:
  Snapshot();
  /// Gives how many sockets are guarded now because of it.
  int guard_since() const;

 private:
  std::string before_;
};

/// A peer at this address has proved that it knows the secret; counted, as several may live there.
void let_in(const std::string& address);
void keep_out(const std::string& address);

/// How many connections were refused so far.
[[nodiscard]] std::uint64_t refused();

}  // namespace accept_gate

}  // namespace troupe
