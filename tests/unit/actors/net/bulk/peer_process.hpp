// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/net/crypto.hpp"
#include "tests/support/child_process.hpp"
#include "tests/unit/actors/net/bulk/pattern.hpp"

#include <stdexcept>
#include <string>

namespace troupe::test {

/// peer_main.cpp as a process that this test talks to; it ends with it.
class PeerProcess : public ChildProcess {
 public:
  explicit PeerProcess(const ClusterSecret& secret) : ChildProcess(TROUPE_BULK_PEER) {
    tell(secret.text());
  }

  BulkRef expose(const std::string& how, std::uint64_t bytes) {
    const auto said = ask("expose " + how + " " + std::to_string(bytes));
    if (said.empty() || said.starts_with("error")) throw std::runtime_error("peer: " + said);
    return ref_from_text(said);
  }
};

}  // namespace troupe::test
