// SPDX-License-Identifier: Apache-2.0
//
// other_version ADDRESS SECRET_FILE: a node of another version of Troupe that tries to join, and
// prints why it could not. Exit status 0 where it was kept out.
#include "actors/core/node.hpp"
#include "actors/core/remote/remote_actors.hpp"
#include "actors/net/ucx_worker.hpp"
#include "apps/troupe/address.hpp"

#include <caf/scoped_actor.hpp>

#include <cstdio>

namespace troupe {
namespace {

int complain(const Error& error) {
  std::fprintf(stderr, "other_version: %s\n", error.what.c_str());
  return 2;
}

int try_to_join(const Address& to, ClusterSecret secret) {
  UcxWorker::set_environment(true);
  NodeOptions options;
  options.name = "older";
  options.version = "0.0.1";
  options.secret = std::move(secret);
  const ActorKinds kinds;
  auto node = Node::start(std::move(options), kinds);
  if (!node) return complain(node.error());
  int status = 1;
  {
    caf::scoped_actor self{(*node)->system()};
    (*node)->watch(caf::actor_cast<caf::actor>(self));
    (*node)->connect(to);
    self->receive([](const PeerUp&) { std::puts("let in"); }, [](const PeerDown&) {},
                  [&](const ConnectFailed& failed) {
                    std::puts(failed.why.what.c_str());
                    status = 0;
                  });
  }
  node->reset();
  return status;
}

}  // namespace
}  // namespace troupe

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const auto address = troupe::parse_address(argv[1]);
  if (!address) return troupe::complain(address.error());
  auto secret = troupe::ClusterSecret::from_file(argv[2]);
  if (!secret) return troupe::complain(secret.error());
  return troupe::try_to_join(*address, std::move(*secret));
}
