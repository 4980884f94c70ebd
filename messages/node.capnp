# SPDX-License-Identifier: Apache-2.0
# What nodes say to each other: the handshake on the control port, why something ended, and the
# requests that every node's own actor answers.
@0xe5a7d9cbf1e33001;

using Cxx = import "/capnp/c++.capnp";
using import "common.capnp".ActorRef;
using import "common.capnp".Address;
using import "common.capnp".Error;
using import "common.capnp".NodeId;
$Cxx.namespace("troupe::msg");

enum NodeRole @0x8d2f51643b7cd409 {
  # The same words in the same order as `troupe::NodeRole` (actors/net/transport.hpp).
  control @0;
  host @1;
  worker @2;
  client @3;
}

struct Hello @0xf6b8eadc02f43102 {
  # 1. The caller says who it is.
  node @0 :NodeId;
  version @1 :Text;
  nonce @2 :Data;
}

struct Challenge @0x87c9fbed13053203 {
  # 2. The called node says who it is; the record's MAC shows that it knows the secret.
  node @0 :NodeId;
  version @1 :Text;
  nonce @2 :Data;
}

struct Introduction @0x98da0cfe24163304 {
  # 3. and 4. What the other side needs in order to send: only given to who has proved the secret.
  control @0 :Address;
  workerAddress @1 :Data;
  session @2 :UInt64;
  nodeActor @3 :UInt64;
  encrypt @4 :Bool;
  role @5 :NodeRole;
}

struct Refusal @0xa9eb1d0f35273405 {
  # Why a handshake came to nothing, or, as the body of a goodbye, why a node wants no more of another.
  error @0 :Error;
}

struct Reason @0xbafc2e1046383506 {
  # Why an actor ended or a request failed, as CAF keeps it (category and number) and in words.
  category @0 :UInt64;
  number @1 :UInt8;
  what @2 :Text;
}

struct Spawn @0xcb0d3f2157493607 {
  # Request to a node's actor: make an actor of a kind. The blob is what an earlier life has left for it.
  kind @0 :Text;
  path @1 :Text;
  seed @2 :UInt64;
  index @3 :UInt32;
  count @4 :UInt32;
  args @5 :AnyPointer;
  life @6 :UInt64;  # as its keeper counts
  keeper @7 :ActorRef;  # takes Snapshot; absent: nobody does
}

struct Spawned @0xdc1e4032685a3708 {
  actor @0 :UInt64;
}
