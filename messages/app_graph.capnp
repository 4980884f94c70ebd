# SPDX-License-Identifier: Apache-2.0
# An application as its user writes it: graph.toml is filled into AppGraph by reflection, so a key, its
# type, its default and its help text are all here and nowhere else (actors/control/graph_load.cpp).
@0xd8a4c2e6f1b30a01;

using Cxx = import "/capnp/c++.capnp";
using import "common.capnp".doc;
using import "common.capnp".unit;
$Cxx.namespace("troupe::msg");

enum Restart @0xe1b5d3f7a2c40b02 {
  permanent @0 $doc("always started again");
  transient @1 $doc("started again unless it ended normally");
  temporary @2 $doc("never started again");
}

enum Strategy @0xf2c6e4a8b3d50c03 {
  oneForOne @0 $doc("only the child that ended is started again");
  oneForAll @1 $doc("all children are stopped and started again with it");
  restForOne @2 $doc("those that were started after it are stopped and started again with it");
}

struct Intensity @0x83d7f5b9c4e60d04 $doc("how many restarts a supervisor bears before it gives up") {
  restarts @0 :UInt32 = 5 $doc("restarts allowed within the window");
  perS @1 :UInt32 = 60 $doc("length of the window in seconds");
}

struct Backoff @0x8a17c2d5e3f9400c $doc("how long a supervisor waits before it starts a child again") {
  first @0 :UInt32 = 100 $unit("duration") $doc("wait before the second restart in a row, doubled for each one after it; the first restart comes at once");
  most @1 :UInt32 = 30000 $unit("duration") $doc("longest wait");
  calm @2 :UInt32 = 60000 $unit("duration") $doc("who has lived that long is started again at once");
}

struct Needs @0x9b28d3e6f40a510d $doc("what the node that an actor is placed on must have, for each of them") {
  cpus @0 :UInt32 = 0 $doc("processors that are nobody else's");
  memory @1 :UInt64 = 0 $unit("bytes") $doc("memory that is nobody else's");
  gpu @2 :UInt32 = 0 $doc("GPUs that are nobody else's");
  labels @3 :List(Text) $doc("labels that the node must have, as its --label says them");
}

struct App @0x94e8a6cad5f70e05 $doc("the application as a whole") {
  name @0 :Text $doc("name of the job; its actors live under /jobs/NAME");
  seed @1 :UInt64 = 1 $doc("every random number of the job follows from this one");
  checkpointDir @2 :Text = "checkpoints" $doc("where its checkpoints go; relative to the run directory");
}

struct Actor @0xa5f9b7dbe6a80f06 $doc("one actor, or a group of equal ones") {
  path @0 :Text $doc("where it lives below the job: \"trainers\" is /jobs/NAME/trainers/0, /1, ...");
  kind @1 :Text $doc("what it is: a registered actor kind");
  count @2 :UInt32 = 1 $doc("how many of them");
  restart @3 :Restart = permanent $doc("what its supervisor does when it ends");
  supervisor @4 :Text = "." $doc("path of the supervisor that it lives under");
  binary @5 :Text $doc("program that hosts it; by default the one that its kind names");
  args @6 :AnyPointer $doc("what its kind needs to know: see the kind's own keys");
  shutdown @7 :Text = "3s" $doc("how it is stopped: a time such as \"5s\" is what it may take when it is asked to, \"brutal\" kills it unasked, \"infinity\" never kills it");
  backoff @8 :Backoff $doc("how long its supervisor waits before it starts it again");
  needs @9 :Needs $doc("what its node must have");
}

struct Supervisor @0xb6a0c8ecf7b91007 $doc("starts its children and starts them again when they end") {
  path @0 :Text = "." $doc("where it lives below the job; \".\" is the job's root supervisor");
  strategy @1 :Strategy = oneForOne $doc("who else is started again when one child ends");
  intensity @2 :Intensity $doc("when it gives up");
  supervisor @3 :Text = "." $doc("path of the supervisor that it lives under; ignored for \".\"");
}

struct AppGraph @0xc7b1d9fda8ca1108 $doc("an application graph") {
  app @0 :App $doc("the application as a whole");
  actor @1 :List(Actor) $doc("its actors");
  supervisor @2 :List(Supervisor) $doc("its supervisors");
}
