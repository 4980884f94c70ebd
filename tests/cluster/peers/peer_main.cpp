// SPDX-License-Identifier: Apache-2.0
//
// The other process of these tests. Its first line of input is the cluster's secret; then one
// command a line, one line of answer each; it ends with its input.
//
//   node      -> NAME INCARNATION HOST PORT ACTOR: a node, and an actor that never answers 2
//   reader    -> NAME INCARNATION HOST PORT: a transport whose reader keeps all that it gets
//   resume    -> ok: the reader lets all go, and goes on
//   seen      -> COUNT: what the reader has got so far, or "error WHAT" if it was out of order
#include "actors/net/ucx_worker.hpp"
#include "tests/cluster/peers/reader.hpp"
#include "tests/cluster/peers/silent_node.hpp"

#include <cstdlib>
#include <iostream>
#include <memory>

namespace troupe::test {
namespace {

std::string to_text(const NodeId& id, const Address& address) {
  return id.name + " " + std::to_string(id.incarnation) + " " + address.host + " " +
         std::to_string(address.port);
}

class Peer {
 public:
  explicit Peer(const ClusterSecret& secret) : secret_(secret) {}

  std::string answer(const std::string& command) {
    if (command == "node") {
      node_ = std::make_unique<SilentNode>("peer", secret_);
      const auto ref = node_->ref();
      return to_text(ref.node, ref.control) + " " + std::to_string(ref.actor);
    }
    if (command == "reader") {
      reader_ = std::make_unique<Reader>(secret_);
      return to_text(reader_->info().id, reader_->info().control);
    }
    if (command == "resume") {
      reader_->resume();
      return "ok";
    }
    if (command == "seen") return reader_->seen();
    return "error unknown command";
  }

 private:
  ClusterSecret secret_;
  std::unique_ptr<SilentNode> node_;
  std::unique_ptr<Reader> reader_;
};

}  // namespace
}  // namespace troupe::test

int main() {
  troupe::UcxWorker::set_environment(true);
  std::string line;
  std::getline(std::cin, line);
  const auto secret = troupe::ClusterSecret::from_text(line);
  if (!secret) return 2;
  troupe::test::Peer peer(*secret);
  while (std::getline(std::cin, line)) std::cout << peer.answer(line) << std::endl;
  std::_Exit(0);
}
