# SPDX-License-Identifier: Apache-2.0
# What every other schema uses: errors, ids, and the annotations that turn a schema into help texts.
@0xb2c9a0c57a1e3f01;

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("troupe::msg");

annotation doc @0xc3a1f0d1e8b7a602 (struct, field, enum, enumerant) :Text;
# One sentence for `troupe graph explain`, error messages and the reference pages.

annotation unit @0xd7e21c7a9c54b803 (field) :Text;
# "bytes" or "duration": the field is an integer (bytes, milliseconds) that a graph may write as a
# text with a unit ("512MiB", "30s").

enum ErrorCode @0xe08f4b1d2a6c9704 {
  # The same words in the same order as `troupe::ErrorCode` (messages/result.hpp); a test compares.
  internal @0;
  invalidArgument @1;
  notFound @2;
  alreadyExists @3;
  unavailable @4;
  permissionDenied @5;
  versionMismatch @6;
  corrupt @7;
  timeout @8;
  resourceExhausted @9;
  aborted @10;
}

struct Error @0x9f3c5b7e1d2a4805 {
  code @0 :ErrorCode;
  what @1 :Text;
}

struct NodeId @0xa1b7c9d3e5f60706 {
  name @0 :Text;
  incarnation @1 :UInt64;
}

struct Address @0xb5d1e3f7a9c20807 {
  host @0 :Text;
  port @1 :UInt16;
}

struct ActorRef @0xc6e2f4a8b0d30908 {
  # An actor anywhere: its node, where that node's control port listens, and its number there.
  node @0 :NodeId;
  control @1 :Address;
  actor @2 :UInt64;
}

struct BulkRef @0xd7f305b9c1e40a09 {
  # Memory that a process has exposed for others to read, and perhaps to write (actors/net/bulk). Who holds
  # the key may; what is allowed and how much there is, the exposing side checks.
  node @0 :NodeId;
  control @1 :Address;
  host @2 :UInt64;
  pid @3 :UInt32;
  started @4 :UInt64;
  table @5 :Int32;
  store @6 :UInt64;
  slot @7 :UInt32;
  key @8 :UInt64;
  length @9 :UInt64;
  writable @10 :Bool;
}
