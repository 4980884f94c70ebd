// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/common.capnp.h"
#include "messages/ids.hpp"

namespace troupe {

// Ids as they stand in messages. Whatever a message holds is read as it is: who takes it in checks
// it.

void write_node(msg::NodeId::Builder to, const NodeId& id);
[[nodiscard]] NodeId read_node(msg::NodeId::Reader from);

void write_address(msg::Address::Builder to, const Address& address);
[[nodiscard]] Address read_address(msg::Address::Reader from);

void write_ref(msg::ActorRef::Builder to, const ActorRef& ref);
[[nodiscard]] ActorRef read_ref(msg::ActorRef::Reader from);

}  // namespace troupe
