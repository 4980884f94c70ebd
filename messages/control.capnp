# SPDX-License-Identifier: Apache-2.0
# How a node is looked at and told what to do from outside: by `troupe ps`, `kill`, `drain`, `logs`. Every
# answer is bounded; where there is more, it says how to ask for the rest. `node` in a request is the node
# that it is for, "name/incarnation"; empty: the one that receives it. Any other node passes it on.
@0xdbd7bf8e17ef785e;

using Cxx = import "/capnp/c++.capnp";
using import "common.capnp".Address;
using import "common.capnp".NodeId;
$Cxx.namespace("troupe::msg");

struct FindService @0xa9c01e83bbe33b5c {
  # Request to a node's actor: who does that there?
  name @0 :Text;
}

struct FoundService @0xd5c77324101e758b {
  actor @0 :UInt64;
}

struct LocalNode @0xfbe57e6c360e4a0e {
  # What a node's Unix socket hands to processes of the same user: all that it takes to join it.
  name @0 :Text;
  control @1 :Address;
  secret @2 :Text;
  encrypt @3 :Bool;
  pid @4 :UInt32;
  version @5 :Text;
}

enum ActorState @0xe9ae6bf35fa32bd8 {
  starting @0;
  running @1;
  waiting @2;
  restarting @3;
  ended @4;
  failed @5;
}

struct ActorRow @0xe1d7638582e9bae3 {
  path @0 :Text;
  kind @1 :Text;
  supervisor @2 :Text;
  restart @3 :Text;
  node @4 :Text;
  pid @5 :UInt32;
  state @6 :ActorState;
  sinceMs @7 :UInt64;
  # Milliseconds since it came into this state, as its node counts them.
  restarts @8 :UInt32;
  stepsPerS @9 :Float64 = -1;
  # Negative: it does not say.
  step @10 :UInt64;
  waitsFor @11 :Text;
  cause @12 :Text;
  # Why it ended, or ended the last time.
  livedMs @13 :UInt64;
}

struct ControlList @0xa22def67e8ce36a7 {
  # Which actors the node looks after, in the order of their paths; or those that have ended, the last
  # first.
  node @0 :Text;
  prefix @1 :Text;
  after @2 :Text;
  # The `next` of the page before.
  limit @3 :UInt32 = 500;
  ended @4 :Bool;
}

struct ControlPage @0xa623fda0fdea9830 {
  node @0 :NodeId;
  control @1 :Address;
  pid @2 :UInt32;
  version @3 :Text;
  upMs @4 :UInt64;
  draining @5 :Bool;
  peers @6 :List(NodeId);
  # Other nodes that answer such requests, as this one knows them.
  actors @7 :List(ActorRow);
  next @8 :Text;
  # Empty: that was all.
}

struct ControlKill @0x8a9dde2e4c3be18f {
  node @0 :Text;
  path @1 :Text;
  stop @2 :Bool;
  trace @3 :UInt64;
  by @4 :Text;
}

struct ControlDrain @0xc5d45d33bdbe8d93 {
  node @0 :Text;
  trace @1 :UInt64;
  by @2 :Text;
}

struct ControlDone @0xebc9bdad713e4dcf {
  what @0 :Text;
}

struct LogList @0xe5568dfc110598c6 {
  # Which logs there are of an actor and those below it, or of a job.
  node @0 :Text;
  path @1 :Text;
  run @2 :Text;
  # Empty: the job's last run.
  after @3 :Text;
  limit @4 :UInt32 = 500;
}

struct LogFiles @0x87c084bf9521bbb9 {
  store @0 :Text;
  # Which folder of which machine: several nodes may have the same one.
  job @1 :Text;
  run @2 :Text;
  actors @3 :List(Text);
  next @4 :Text;
  jobs @5 :List(Text);
  # Where there is no such job: those that there are.
}

struct LogRead @0xc17962781abb4d85 {
  node @0 :Text;
  actor @1 :Text;
  run @2 :Text;
  offset @3 :UInt64;
  limit @4 :UInt32 = 65536;
  sinceMs @5 :Int64;
  # With offset 0: begins with the first line that is not older; milliseconds since 1970.
}

struct LogPart @0xf5d8c873c06927f9 {
  text @0 :Data;
  # As it stands there; may begin and end within a line.
  next @1 :UInt64;
  # Where the next part begins.
  size @2 :UInt64;
  # Of the file as it was then.
}
