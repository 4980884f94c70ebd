# SPDX-License-Identifier: Apache-2.0
# Elastic training: the keys a user writes for `easyscale.trainer`, and what the trainers of a job and
# their coordinator say to each other. Tensors are never in here: they travel as the blob of a message.
@0xd9c3ebafba1c2201;

using Cxx = import "/capnp/c++.capnp";
using import "common.capnp".doc;
using import "common.capnp".ActorRef;
$Cxx.namespace("troupe::msg");

enum Determinism @0xead4fcb0cb2d2302 {
  d1 @0 $doc("the same bits whatever the number of trainers, on machines of one type");
}

struct TrainerArgs @0xfbe50dc1dc3e2403 $doc("keys of kind easyscale.trainer") {
  program @0 :Text $doc("the TrainProgram: model, loss, data and optimizer");
  data @1 :Text $doc("the program's data file or folder; by default where deploy/quickstart puts it");
  ranks @2 :UInt32 = 8 $doc("virtual ranks: the number of workers that the result corresponds to");
  batch @3 :UInt32 = 8 $doc("samples per virtual rank and step");
  epochs @4 :UInt32 = 1 $doc("passes over the training set");
  determinism @5 :Determinism = d1 $doc("what must not change the result");
}
