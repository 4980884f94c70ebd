# SPDX-License-Identifier: Apache-2.0
# What the members of a cluster say to each other about who belongs to it.
@0x9c41d7e2b85f3a01;

using Cxx = import "/capnp/c++.capnp";
using import "common.capnp".Address;
using import "common.capnp".NodeId;
$Cxx.namespace("troupe::msg");

enum MemberState @0xad52e8f3c9604b02 {
  # The same words in the same order as `troupe::MemberState` (actors/core/membership/member.hpp).
  alive @0;
  suspect @1;
  leaving @2;
  left @3;
  down @4;
}

struct NodeOffer @0xbe63f904da715c03 {
  # What a node has for actors that are placed on it.
  labels @0 :List(Text);
  cpus @1 :Float64;
  memory @2 :UInt64;
}

struct MemberNews @0xcf740a15eb826d04 {
  # What a node says of itself, and whom it sees: others call those, and believe what they say themselves.
  offer @0 :NodeOffer;
  leaving @1 :Bool;
  members @2 :List(Entry);

  struct Entry @0xd0851b26fc937e05 {
    node @0 :NodeId;
    control @1 :Address;
    state @2 :MemberState;
  }
}

struct MemberProbe @0xe1962c370da48f06 {
  # Is the target alive? `origin` asks others (ask); they and it ask the target (ping), whose answer (pong)
  # they hand on (reached).
  kind @0 :Kind;
  origin @1 :NodeId;
  target @2 :NodeId;

  enum Kind @0xf2a73d481eb5a007 {
    ask @0;
    ping @1;
    pong @2;
    reached @3;
  }
}
