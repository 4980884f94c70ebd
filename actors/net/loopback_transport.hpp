// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/net/transport.hpp"

#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <utility>

namespace troupe {

class LoopbackTransport;

/// A network inside one process: nodes made by the same hub reach each other by the port numbers
/// that the hub gives out. Must outlive its transports.
class LoopbackHub {
 public:
  LoopbackHub() = default;
  LoopbackHub(const LoopbackHub&) = delete;
  virtual ~LoopbackHub() = default;

  [[nodiscard]] virtual std::unique_ptr<Transport> make(PeerInfo self);

 private:
  friend class LoopbackTransport;

  std::mutex mutex_;
  std::uint16_t next_port_ = 1;
  std::map<std::uint16_t, LoopbackTransport*> listening_;
  std::set<std::pair<NodeId, NodeId>> dead_;  ///< who has declared whom dead
};

}  // namespace troupe
