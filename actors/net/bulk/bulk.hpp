// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/net/bulk/bulk_messages.hpp"
#include "actors/net/bulk/bulk_reader.hpp"
#include "actors/net/bulk/bulk_store.hpp"
#include "actors/net/transport.hpp"

#include <memory>

namespace troupe {

/// A node's bulk data: what it exposes and how it reaches what others expose. Stands between the
/// transport and the handler that gets everything else: start the transport with handler(next).
class Bulk {
 public:
  [[nodiscard]] static Result<std::unique_ptr<Bulk>> make();
  ~Bulk();
  Bulk(const Bulk&) = delete;

  /// Passes on to `next` all that is no bulk data; `next` must outlive the transport's stop().
  [[nodiscard]] TransportHandler& handler(TransportHandler& next);
  /// The transport has started; `self` is what it said.
  void attach(Transport& transport, const PeerInfo& self);
  /// To be called when the transport has stopped. Idempotent.
  void detach();

  [[nodiscard]] BulkStore& store() { return *store_; }
  [[nodiscard]] BulkReader& reader() { return reader_; }

 private:
  class Router;

  explicit Bulk(std::unique_ptr<BulkStore> store);

  std::unique_ptr<RmaWorker> rma_;  ///< where the environment asks for it; outlives registrations
  std::unique_ptr<BulkStore> store_;
  BulkMessages messages_;
  std::unique_ptr<Router> router_;
  BulkReader reader_;
};

}  // namespace troupe
