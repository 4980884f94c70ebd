# SPDX-License-Identifier: Apache-2.0
# What control nodes keep in their store (actors/control/store), for programs that read it later.
@0xa75d01568a353e6b;

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("troupe::msg");

struct StoredRecord @0xf42f96d85b35afaa {
  # The envelope of every record. A reader that does not know `format` refuses the record and names
  # `program`, before it looks at the body.
  format @0 :UInt32;
  program @1 :Text;
  sha256 @2 :Data;
  body @3 :Data;
}

enum StoredJobState @0xf2735e68748c710e {
  submitted @0;
  running @1;
  stopping @2;
  done @3;
  failed @4;
  cancelled @5;
}

struct StoredPlace @0xb06367ebb19fe651 {
  # Where an actor of a job was started.
  path @0 :Text;
  node @1 :Text;
}

struct StoredJob @0xa3eb79d6e4b99266 {
  name @0 :Text;
  graph @1 :Text;
  runDirectory @2 :Text;
  state @3 :StoredJobState;
  reason @4 :Text;
  generation @5 :UInt64;
  places @6 :List(StoredPlace);
}
