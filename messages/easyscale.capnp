# SPDX-License-Identifier: Apache-2.0
# Elastic training: the keys a user writes for `easyscale.trainer`, and what the trainers of a job and
# their coordinator say to each other. Tensors are never in here: they travel as the blob of a message.
@0xd9c3ebafba1c2201;

using Cxx = import "/capnp/c++.capnp";
using import "common.capnp".doc;
using import "common.capnp".ActorRef;
using import "common.capnp".BulkRef;
using import "common.capnp".Error;
$Cxx.namespace("troupe::msg");

enum Determinism @0xead4fcb0cb2d2302 {
  d1 @0 $doc("the same bits whatever the number of trainers, on machines of one type");
  d0 @1 $doc("the same bits for the same number of trainers, if none dies, on machines of one type");
  d2 @2 $doc("as D1, on all x86-64 machines that have AVX2: nothing wider is used");
}

enum Reducer @0xfbe50dc1dc384614 {
  tree @0 $doc("a fixed binary tree of float32 sums");
  int64 @1 $doc("integers of a common exponent: twice the bytes and one more round, in whatever order");
}

enum Precision @0xfbe50dc1dc374514 {
  f32 @0 $doc("float32");
  bf16 @1 $doc("bfloat16 where torch's autocast thinks that it does no harm; parameters and gradients stay float32");
}

struct TrainerArgs @0xfbe50dc1dc3e2403 $doc("keys of kind easyscale.trainer") {
  program @0 :Text $doc("the TrainProgram: model, loss, data and optimizer");
  data @1 :Text $doc("the program's data file or folder; by default where deploy/quickstart puts it");
  ranks @2 :UInt32 = 8 $doc("virtual ranks: the number of workers that the result corresponds to");
  batch @3 :UInt32 = 8 $doc("samples per virtual rank and step");
  epochs @4 :UInt32 = 1 $doc("passes over the training set");
  determinism @5 :Determinism = d1 $doc("what must not change the result");
  accumulate @6 :UInt32 = 1 $doc("micro-batches of `batch` samples that a virtual rank computes in a step, one after the other");
  clipNorm @7 :Float64 = 0 $doc("largest norm of a step's gradient, to which a larger one is scaled down; 0: none");
  precision @8 :Precision = f32 $doc("in which numbers the forward and backward passes are computed");
  device @9 :Text = "cpu" $doc("what torch computes on: cpu, cuda, cuda:1");
  reducer @10 :Reducer = tree $doc("how the virtual ranks' gradients become one");
  module @11 :Text $doc("instead of a program: file of a TorchScript module; `data` is one with its samples");
  checkpointEvery @12 :UInt32 = 0 $doc("steps from one checkpoint to the next, and one at the end; 0: no checkpoints");
  checkpointKeep @13 :UInt32 = 3 $doc("checkpoints that are kept: the newest ones");
  hashEvery @14 :UInt32 = 10 $doc("steps between those whose tensors' hashes are kept with the run; 0: none");
}

# From here on: the protocol of gpu/easyscale/job/job_state.hpp and member_state.hpp, where each message is
# explained. A coordinator tells its trainers apart by who sends, not by what they write.

struct TrainerAttach @0x8cf61ed2ed4f2504 {
  # Coordinator to a trainer that has come up, or that another coordinator had: answer with TrainerHello.
  # A trainer obeys the coordinator of the highest term that has attached it, and nobody else.
  member @0 :UInt32;
  term @1 :UInt32;
  checkpoints @2 :TrainCheckpoints;
}

struct TrainCheckpoints @0x972d384e095b5607 {
  # What a trainer needs in order to write checkpoints and to go on from one: see checkpoint/writer_link.hpp.
  folder @0 :Text;
  every @1 :UInt64;
  keep @2 :UInt32;
  hashEvery @3 :UInt64;
  job @4 :Text;
  group @5 :Text;
  resume @6 :Text;  # the folder of one; empty: none
  settings @7 :Text;  # keys of the graph that change bits
  program @8 :Text;
}

struct TrainCheckpointed @0xa83e495f1a6c5708 {
  # Trainer to coordinator: a checkpoint was written, or `missed` says why not.
  step @0 :UInt64;
  folder @1 :Text;
  bytes @2 :UInt64;
  seconds @3 :Float64;  # that the writer took
  stall @4 :Float64;    # seconds that training waited for it
  missed @5 :Error;
}

struct TrainHashes @0xb94f5a602b7d5809 {
  # Trainer to coordinator: the hashes of a state's tensors.
  struct Tensor @0xca506b713c8e590a {
    name @0 :Text;
    sha256 @1 :Data;
  }

  step @0 :UInt64;
  tensors @1 :List(Tensor);
}

struct TrainerHello @0x9d072fe3fe502605 {
  stepsPerEpoch @0 :UInt64;
  gradient @1 :UInt64;
  buffers @2 :UInt64;
  fingerprint @3 :Text;
  resumes @4 :Bool;
  resume @5 :UInt64;
  context @6 :UInt64;
  # For people: what the model consists of, and what each level of determinism costs it.
  model @7 :Text;
  costs @8 :Text;
}

struct TrainerFailed @0xae1830f40f612706 {
  error @0 :Error;
}

struct TrainView @0xbf294105107a2807 {
  struct Seat @0xc03a5216218b2908 {
    member @0 :UInt32;
    actor @1 :ActorRef;
    firstRank @2 :UInt32;
    ranks @3 :UInt32;
    joins @4 :Bool;
  }

  generation @0 :UInt64;
  step @1 :UInt64;
  donor @2 :UInt32;
  seats @3 :List(Seat);
}

struct TrainState @0xd14b6327329c2a09 {
  # Donor to joiner; the blob is the state at the start of the step, where `bulk` does not say that it is
  # to be pulled.
  generation @0 :UInt64;
  step @1 :UInt64;
  bulk @2 :BulkRef;
}

struct TrainPiece @0xe25c743843ad2b0a {
  # Member to member; the blob is the piece's bytes, where `bulk` does not say that they are to be pulled.
  kind @0 :UInt8;
  generation @1 :UInt64;
  step @2 :UInt64;
  from @3 :UInt32;
  level @4 :UInt32;
  index @5 :UInt32;
  bulk @6 :BulkRef;
}

struct TrainReady @0xf36d854954be2c0b {
  struct Rank @0x847e965a65cf2d0c {
    rank @0 :UInt32;
    loss @1 :Float64;
    correct @2 :UInt32;
    counted @3 :UInt32;
  }

  generation @0 :UInt64;
  step @1 :UInt64;
  ranks @2 :List(Rank);
}

struct TrainCommit @0x958fa76b76d02e0d {
  generation @0 :UInt64;
  step @1 :UInt64;
  viewFollows @2 :Bool;
}

struct TrainHolds @0xa690b87c87e12f0e {
  generation @0 :UInt64;
  holds @1 :Bool;
  step @2 :UInt64;
}

struct TrainFault @0xb7a1c98d98f2300f {
  # Die on purpose; the phases are those of FaultPhase.
  step @0 :UInt64;
  phase @1 :UInt8;
}

struct TrainAsk @0xc8b2da9ea9033110 {
  enum What @0xd9c3ebafba143211 {
    held @0;
    evaluate @1;
    hash @2;
  }

  what @0 :What;
  epoch @1 :UInt64;
  generation @2 :UInt64;
}

struct TrainEvaluated @0xead4fcb0cb253312 {
  epoch @0 :UInt64;
  correct @1 :UInt64;
  counted @2 :UInt64;
  loss @3 :Float64;
}

struct TrainHash @0xfbe50dc1dc363413 {
  # Of the parameters alone and of the whole state, in hexadecimal digits.
  sha256 @0 :Text;
  state @1 :Text;
}
