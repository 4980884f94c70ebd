# SPDX-License-Identifier: Apache-2.0
# The manifest of a checkpoint (gpu/easyscale/checkpoint): the file is a CheckpointHeader and, right after
# it, the CheckpointManifest that the header has size and hash of.
@0xb1c7d2e8a3f45001;

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("troupe::msg");

struct CheckpointHeader @0xc2d8e3f9b4065102 {
  format @0 :Text;     # "troupe checkpoint"
  version @1 :UInt32;  # of the manifest's format; newer ones are refused
  program @2 :Text;    # version of the program that wrote it
  size @3 :UInt64;     # bytes of the manifest
  sha256 @4 :Data;     # of the manifest
}

struct CheckpointManifest @0xd3e9f40ac5175203 {
  job @0 :Text;
  group @1 :Text;
  trainProgram @2 :Text;
  seed @3 :UInt64;
  ranks @4 :UInt32;
  batch @5 :UInt32;
  step @6 :UInt64;
  epoch @7 :UInt64;
  stepsPerEpoch @8 :UInt64;
  steps @9 :UInt64;
  optimizer @10 :Text;
  fingerprint @11 :Text;
  blockSize @12 :UInt64;
  files @13 :List(File);
  tensors @14 :List(Tensor);
  rankRecords @15 :List(Rank);
  settings @16 :Text;

  struct File @0xe4fa051bd6285304 {
    name @0 :Text;
    size @1 :UInt64;
  }
  struct Tensor @0xf50b162ce7395405 {
    name @0 :Text;
    dtype @1 :Text;
    shape @2 :List(UInt64);
    offset @3 :UInt64;
    file @4 :UInt32;
    sha256 @5 :Data;
  }
  struct Rank @0x861c273df84a5506 {
    rank @0 :UInt32;
    generatorSeed @1 :UInt64;
  }
}
