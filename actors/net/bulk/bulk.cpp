// SPDX-License-Identifier: Apache-2.0
#include "actors/net/bulk/bulk.hpp"

#include <utility>

namespace troupe {

class Bulk::Router final : public TransportHandler {
 public:
  Router(BulkMessages& bulk, TransportHandler& next) : bulk_(bulk), next_(next) {}

  void on_peer_up(const PeerInfo& peer) override {
    bulk_.on_peer_up(peer);
    next_.on_peer_up(peer);
  }
  void on_peer_down(const NodeId& peer, const Error& why) override {
    bulk_.on_peer_down(peer, why);
    next_.on_peer_down(peer, why);
  }
  void on_connect_failed(const Address& to, const Error& why) override {
    bulk_.on_connect_failed(to, why);
    next_.on_connect_failed(to, why);
  }
  void on_frame(const NodeId& from, Frame frame) override {
    const auto kind = frame.header.kind;
    if (kind == FrameKind::bulk_request || kind == FrameKind::bulk_answer) {
      return bulk_.on_frame(from, std::move(frame));
    }
    next_.on_frame(from, std::move(frame));
  }
  void on_sign_of_life(const NodeId& peer) override { next_.on_sign_of_life(peer); }
  void on_pause() override { next_.on_pause(); }

 private:
  BulkMessages& bulk_;
  TransportHandler& next_;
};

Result<std::unique_ptr<Bulk>> Bulk::make() {
  auto store = BulkStore::make();
  if (!store) return Failure(store.error());
  return std::unique_ptr<Bulk>(new Bulk(std::move(*store)));
}

Bulk::Bulk(std::unique_ptr<BulkStore> store)
    : store_(std::move(store)), messages_(*store_), reader_(*store_, messages_) {}

Bulk::~Bulk() { detach(); }

TransportHandler& Bulk::handler(TransportHandler& next) {
  router_ = std::make_unique<Router>(messages_, next);
  return *router_;
}

void Bulk::attach(Transport& transport, const PeerInfo& self) {
  store_->set_home(self.id, self.control);
  // After the transport's: the first context of a process complains of settings that it does not
  // use.
  rma_ = RmaWorker::from_environment();
  messages_.attach(transport, rma_.get());
}

void Bulk::detach() { messages_.detach(); }

}  // namespace troupe
