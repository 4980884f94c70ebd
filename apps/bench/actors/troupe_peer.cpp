// SPDX-License-Identifier: Apache-2.0
#include "apps/bench/actors/troupe_peer.hpp"

#include "actors/core/node.hpp"
#include "actors/core/node_actor.hpp"
#include "apps/bench/actors/bulk_source.hpp"
#include "apps/bench/peer/traffic.hpp"
#include "messages/bench.capnp.h"

#include <algorithm>
#include <sstream>

namespace troupe::bench {
namespace {

struct TroupeWire {
  using Data = Msg<msg::BenchData>;
  using Start = Msg<msg::BenchStart>;
  using Ack = Msg<msg::BenchAck>;

  static Data data(std::uint64_t bytes) {
    if (bytes > max_inner_bytes) {
      return Data::build([](msg::BenchData::Builder) {},
                         Slice::own(std::vector<std::uint8_t>(bytes, 7)));
    }
    return Data::build([&](msg::BenchData::Builder to) {
      auto payload = to.initPayload(static_cast<unsigned>(bytes));
      std::fill(payload.begin(), payload.end(), 7);
    });
  }
  static Start start(const Order& order) {
    return Start::build([&](msg::BenchStart::Builder to) {
      to.setCount(order.count);
      to.setBytes(order.bytes);
      to.setEvery(order.every);
    });
  }
  static Ack ack(std::uint64_t received) {
    return Ack::build([&](msg::BenchAck::Builder to) { to.setReceived(received); });
  }
  static Order read(const Start& start) {
    auto view = start.read();
    return {view->getCount(), view->getBytes(), view->getEvery()};
  }
  static std::uint64_t read(const Ack& ack) { return ack.read()->getReceived(); }
  static std::uint64_t size(const Data& data) {
    return data.blob().empty() ? data.read()->getPayload().size() : data.blob().size();
  }
};

/// Has the actor's handlers run on the network's thread, where this build can do that.
template <class N>
bool run_inline(N& node, const caf::actor& actor) {
  if constexpr (requires { node.run_inline(actor); }) {
    node.run_inline(actor);
    return true;
  }
  return false;
}

class TroupePeer final : public Peer {
 public:
  TroupePeer() {
    register_node_messages(kinds_);
    kinds_.messages().add<msg::BenchData>();
    kinds_.messages().add<msg::BenchStart>();
    kinds_.messages().add<msg::BenchAck>();
  }

  Result<std::string> serve() override {
    const auto secret = ClusterSecret::random();
    if (auto started = start("served", secret); !started) return Failure(started.error());
    const auto exposed = BulkSource::expose(node_->bulk().store());
    if (!exposed) return Failure(exposed.error());
    const auto& self = node_->self();
    std::ostringstream out;
    out << self.id.incarnation << ' ' << self.control.port << ' ' << node_->ref(scheduled_).actor
        << ' ' << node_->ref(inlined_).actor << ' ' << secret.text() << ' ' << *exposed;
    return out.str();
  }

  Result<std::string> join(const std::string& served) override {
    std::istringstream in(served);
    ActorRef other{{"served", 0}, {"127.0.0.1", 0}, 0};
    ActorNumber inlined = 0;
    std::string secret_text;
    in >> other.node.incarnation >> other.control.port >> other.actor >> inlined >> secret_text;
    const auto secret = ClusterSecret::from_text(secret_text);
    if (!secret) return Failure(secret.error());
    if (auto started = start("joined", *secret); !started) return Failure(started.error());
    other_scheduled_ = node_->resolve(other);
    other.actor = inlined;
    other_inlined_ = node_->resolve(other);
    std::string exposed;
    std::getline(in, exposed);
    auto source = BulkSource::import(exposed, other.node, other.control);
    if (!source) return Failure(source.error());
    source_ = std::move(*source);
    return std::string("-");
  }

  Result<void> accept(const std::string&) override { return {}; }

  Result<std::vector<double>> measure(const Task& task) override {
    if (task.work >= Work::pull_memfd) {
      const auto seconds = source_.pull(node_->bulk().reader(), task);
      if (!seconds) return Failure(seconds.error());
      return std::vector<double>{*seconds};
    }
    const bool inlined = task.lane == Lane::inlined;
    if (inlined && !has_inline_lane_) {
      return fail(ErrorCode::unavailable, "this build has no inline lane");
    }
    const auto& other = inlined                    ? other_inlined_
                        : task.lane == Lane::local ? scheduled_
                                                   : other_scheduled_;
    return run_traffic<TroupeWire>(node_->system(), other, task, [&](const caf::actor& actor) {
      if (inlined) run_inline(*node_, actor);
    });
  }

 private:
  Result<void> start(const std::string& name, const ClusterSecret& secret) {
    auto node = Node::start({.name = name, .secret = secret}, kinds_);
    if (!node) return Failure(node.error());
    node_ = std::move(*node);
    scheduled_ = node_->system().spawn(answer_data<TroupeWire>);
    inlined_ = node_->system().spawn(answer_data<TroupeWire>);
    has_inline_lane_ = run_inline(*node_, inlined_);
    return {};
  }

  ActorKinds kinds_;
  std::unique_ptr<Node> node_;
  caf::actor scheduled_;
  caf::actor inlined_;
  caf::actor other_scheduled_;
  caf::actor other_inlined_;
  BulkSource source_;
  bool has_inline_lane_ = false;
};

}  // namespace

std::unique_ptr<Peer> make_troupe_peer() { return std::make_unique<TroupePeer>(); }

}  // namespace troupe::bench
