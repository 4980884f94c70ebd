# SPDX-License-Identifier: Apache-2.0
# What a supervisor asks of another node: start a program there, end it, adopt it
# (actors/core/supervise/host_actor.hpp).
@0xd17a3c5e90b24c01;

using Cxx = import "/capnp/c++.capnp";
using import "common.capnp".ActorRef;
using import "node.capnp".Spawn;
$Cxx.namespace("troupe::msg");

struct Resources @0xe28b4d6fa1c35d02 {
  cpus @0 :UInt32;
  memory @1 :UInt64;
  gpu @2 :UInt32;
}

struct HostQuery @0xf39c5e70b2d46e03 {
  # Request to a node's own actor: answered with HostInfo, by an error where nothing can be launched.
}

struct HostInfo @0x84ad6f81c3e57f04 {
  host @0 :UInt64;  # number of the actor that takes Launch, EndLife, ListLaunched and Adopt
  labels @1 :List(Text);
  total @2 :Resources;
  free @3 :Resources;
  draining @4 :Bool;
}

struct Launch @0x95be7092d4f68005 {
  # Start a program as a node and have it make one actor. Answered with Launched when the actor lives.
  struct Variable @0xa6cf81a3e5079106 {
    name @0 :Text;
    value @1 :Text;
  }

  life @0 :UInt64;  # tells the lives of one path apart
  group @1 :Text;  # members of one group on one host share its step memory
  nodeName @2 :Text;  # the host adds a number
  program @3 :Text;  # a name, looked for by the host
  spawn @4 :Spawn;  # with the path
  environment @5 :List(Variable);
  log @6 :Text;  # below the host's folder for logs
  takes @7 :Resources;
}

struct Launched @0xb7d092b4f618a207 {
  path @0 :Text;
  life @1 :UInt64;
  actor @2 :ActorRef;
  pid @3 :UInt32;
}

struct EndLife @0xc8e1a3c50729b308 {
  # From its owner to the host: end it, by SIGTERM or by SIGKILL. LifeEnded follows. Anybody may end
  # an orphan.
  path @0 :Text;
  life @1 :UInt64;
  kill @2 :Bool;
}

struct LifeEnded @0xd9f2b4d6183ac409 {
  # To who launched or adopted it: the process is gone, and how it ended.
  path @0 :Text;
  life @1 :UInt64;
  how @2 :Text;
  hostStops @3 :Bool;  # not gone yet, but the host is stopping and will end it
}

struct ListLaunched @0xea03c5e7294bd50a {
  # Answered with LaunchedList: all whose path begins with this one, whatever they are doing.
  under @0 :Text;
}

struct LaunchedList @0xfb14d6f83a5ce60b {
  struct Entry @0x8c25e7094b6df70c {
    launched @0 :Launched;
    orphan @1 :Bool;  # whoever launched or adopted it is gone, or is the asker
    ready @2 :Bool;  # its actor lives, and nobody has asked it to end
  }

  entries @0 :List(Entry);
}

struct Adopt @0x9d36f81a5c7e080d {
  # The sender takes the place of who launched this life. Answered with Launched.
  path @0 :Text;
  life @1 :UInt64;
}

struct Snapshot @0xae47092b6d8f191e {
  # To a supervisor: the blob is what this life leaves for the next one.
  path @0 :Text;
  life @1 :UInt64;
}
