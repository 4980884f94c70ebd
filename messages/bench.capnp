# SPDX-License-Identifier: Apache-2.0
# What the actors of `troupe bench actors` say to each other.
@0xa4d1f3b7c9e25a01;

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("troupe::msg");

struct BenchStart @0xb5e2a4c8daf36b02 {
  # What comes next: `count` messages of `bytes` each, to be acknowledged every `every` messages; or,
  # where `count` is 0, messages that are to be sent back.
  count @0 :UInt64;
  bytes @1 :UInt64;
  every @2 :UInt64;
}

struct BenchData @0xc6f3b5d9eba47c03 {
  # Up to 4 KiB are in here, more is the blob.
  payload @0 :Data;
}

struct BenchAck @0xd7a4c6eafcb58d04 {
  received @0 :UInt64;
}
