// SPDX-License-Identifier: Apache-2.0
#include "messages/wire_ids.hpp"

namespace troupe {

void write_node(msg::NodeId::Builder to, const NodeId& id) {
  to.setName(id.name);
  to.setIncarnation(id.incarnation);
}

NodeId read_node(msg::NodeId::Reader from) { return {from.getName(), from.getIncarnation()}; }

void write_address(msg::Address::Builder to, const Address& address) {
  to.setHost(address.host);
  to.setPort(address.port);
}

Address read_address(msg::Address::Reader from) { return {from.getHost(), from.getPort()}; }

void write_ref(msg::ActorRef::Builder to, const ActorRef& ref) {
  write_node(to.initNode(), ref.node);
  write_address(to.initControl(), ref.control);
  to.setActor(ref.actor);
}

ActorRef read_ref(msg::ActorRef::Reader from) {
  return {read_node(from.getNode()), read_address(from.getControl()), from.getActor()};
}

}  // namespace troupe
