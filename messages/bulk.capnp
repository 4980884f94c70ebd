# SPDX-License-Identifier: Apache-2.0
# How bulk data is asked for where it must go through the network (frames of kind bulk_request and
# bulk_answer). The bytes themselves are the frame's blob.
@0xa8eb1d0f35274401;

using Cxx = import "/capnp/c++.capnp";
using import "common.capnp".Error;
$Cxx.namespace("troupe::msg");

struct BulkRange @0xb9fc2e1046385502 {
  offset @0 :UInt64;
  length @1 :UInt64;
}

struct BulkRequest @0xca0d3f2157496603 {
  # To read, the answer's blob is the ranges one after the other; to write, the request's blob is. With
  # `grant`, it is a BulkGrant: the asker wants to read by itself.
  slot @0 :UInt32;
  key @1 :UInt64;
  write @2 :Bool;
  ranges @3 :List(BulkRange);
  grant @4 :Bool;
}

struct BulkAnswer @0xdb1e4032685a7704 {
  union {
    done @0 :Void;
    error @1 :Error;
  }
}

struct BulkGrant @0xec2f5143796b8805 {
  # What UCX needs for one-sided reads.
  worker @0 :Data;
  key @1 :Data;
  address @2 :UInt64;
}
