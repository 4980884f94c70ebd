// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/control/graph_load.hpp"
#include "messages/easyscale.capnp.h"

#include <capnp/dynamic.h>

#include <string>
#include <vector>

namespace troupe::test {

/// Two kinds: one as trainers have it, with a check, and one that no program hosts.
inline ActorKinds some_kinds() {
  ActorKinds kinds;
  const auto args = capnp::StructSchema::from<msg::TrainerArgs>();
  const auto check = [](capnp::DynamicStruct::Reader from) -> Result<void> {
    if (from.as<msg::TrainerArgs>().getBatch() == 0) {
      return fail(ErrorCode::invalid_argument, "batch must be at least 1");
    }
    return {};
  };
  kinds.add({"easyscale.trainer", "troupe-train", args, check, {}, {}});
  kinds.add({"orphan.kind", "", args, {}, {}, {}});
  return kinds;
}

/// The lines of the error that reading such a graph gives; empty where it is fine.
inline std::string errors_in(const std::string& text, const std::vector<std::string>& sets = {}) {
  const auto loaded = parse_graph(text, "g.toml", sets, some_kinds());
  return loaded ? std::string() : loaded.error().what;
}

inline const std::string digits = R"([app]
name = "digits"
seed = 7
[[actor]]
path = "trainers"
kind = "easyscale.trainer"
count = 3
restart = "permanent"
[actor.args]
program = "digits"
ranks = 8
batch = 8
epochs = 12
determinism = "D1"
[[supervisor]]
path = "."
strategy = "one_for_one"
intensity = { restarts = 5, per_s = 60 }
)";

/// `digits` with one line replaced, or with one added where `line` is one more than there are.
inline std::string with_line(unsigned line, const std::string& text) {
  std::string out;
  unsigned at = 1;
  std::size_t begin = 0;
  while (begin < digits.size()) {
    const auto end = digits.find('\n', begin);
    out += at++ == line ? text : digits.substr(begin, end - begin);
    out += '\n';
    begin = end + 1;
  }
  return at <= line ? out + text + "\n" : out;
}

}  // namespace troupe::test
