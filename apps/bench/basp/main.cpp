// SPDX-License-Identifier: Apache-2.0
//
// CAF's own network (BASP over TCP), measured with the same actors as ours.
#include "apps/bench/peer/peer.hpp"
#include "apps/bench/peer/traffic.hpp"

#include <caf/actor_system_config.hpp>
#include <caf/io/middleman.hpp>
#include <caf/meta/type_name.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace troupe::bench {
namespace {

struct BaspStart {
  Order order;
};
template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, BaspStart& x) {
  return f(caf::meta::type_name("BaspStart"), x.order.count, x.order.bytes, x.order.every);
}

struct BaspAck {
  std::uint64_t received = 0;
};
template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, BaspAck& x) {
  return f(caf::meta::type_name("BaspAck"), x.received);
}

struct BaspWire {
  using Data = std::vector<std::uint8_t>;
  using Start = BaspStart;
  using Ack = BaspAck;

  static Data data(std::uint64_t bytes) { return Data(bytes, 7); }
  static Start start(const Order& order) { return {order}; }
  static Ack ack(std::uint64_t received) { return {received}; }
  static Order read(const Start& start) { return start.order; }
  static std::uint64_t read(const Ack& ack) { return ack.received; }
  static std::uint64_t size(const Data& data) { return data.size(); }
};

struct Config : caf::actor_system_config {
  explicit Config(bool sharing) {
    load<caf::io::middleman>();
    add_message_type<BaspWire::Data>("bytes");
    add_message_type<BaspStart>("BaspStart");
    add_message_type<BaspAck>("BaspAck");
    if (sharing) set("scheduler.policy", caf::atom("sharing"));
  }
};

class BaspPeer final : public Peer {
 public:
  explicit BaspPeer(bool sharing) : config_(sharing), system_(config_) {}

  Result<std::string> serve() override {
    const auto port =
        system_.middleman().publish(system_.spawn(answer_data<BaspWire>), 0, "127.0.0.1");
    if (!port) return fail(ErrorCode::unavailable, system_.render(port.error()));
    return std::to_string(*port);
  }

  Result<std::string> join(const std::string& served) override {
    const auto port = static_cast<std::uint16_t>(std::stoul(served));
    const auto other = system_.middleman().remote_actor<caf::actor>("127.0.0.1", port);
    if (!other) return fail(ErrorCode::unavailable, system_.render(other.error()));
    other_ = *other;
    return std::string("-");
  }

  Result<void> accept(const std::string&) override { return {}; }

  Result<std::vector<double>> measure(const Task& task) override {
    return run_traffic<BaspWire>(system_, other_, task, [](const caf::actor&) {});
  }

 private:
  Config config_;
  caf::actor_system system_;
  caf::actor other_;
};

Result<std::unique_ptr<Peer>> make_peer(const std::string& name) {
  if (name != "basp" && name != "basp_sharing") {
    return fail(ErrorCode::invalid_argument, "no peer '" + name + "'");
  }
  return std::make_unique<BaspPeer>(name == "basp_sharing");
}

}  // namespace
}  // namespace troupe::bench

int main(int argc, char** argv) {
  return troupe::bench::peer_main(argc, argv, troupe::bench::make_peer);
}
