// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/net/bulk/bulk.hpp"
#include "actors/net/crypto.hpp"
#include "actors/net/loopback_transport.hpp"
#include "actors/net/ucx_transport.hpp"
#include "tests/support/recording_handler.hpp"

#include <memory>
#include <string>

namespace troupe::test {

/// A node without actors: a transport and its bulk data.
struct BulkNode {
  explicit BulkNode(std::unique_ptr<Transport> made)
      : transport(std::move(made)), bulk(Bulk::make().value()) {
    self = transport->start(bulk->handler(others)).value();
    bulk->attach(*transport, self);
  }
  ~BulkNode() {
    transport->stop();
    bulk->detach();
  }
  BulkNode(const BulkNode&) = delete;

  static std::unique_ptr<BulkNode> on_ucx(const std::string& name, const ClusterSecret& secret) {
    const NodeId id{name, random_number()};
    return std::make_unique<BulkNode>(make_ucx_transport({id, "1", 1, {"127.0.0.1", 0}, secret}));
  }
  static std::unique_ptr<BulkNode> on_hub(const std::string& name, LoopbackHub& hub) {
    return std::make_unique<BulkNode>(hub.make({{name, random_number()}, {}, "1", 1}));
  }

  RecordingHandler others;
  std::unique_ptr<Transport> transport;
  std::unique_ptr<Bulk> bulk;
  PeerInfo self;
};

}  // namespace troupe::test
