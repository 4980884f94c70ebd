// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "apps/troupe/command_line.hpp"
#include "messages/easyscale.capnp.h"

#include <boost/test/unit_test.hpp>

#include <string>
#include <variant>
#include <vector>

namespace troupe::test {

inline CommandLine parse(const std::vector<std::string>& words) {
  ActorKinds kinds;
  kinds.add({"easyscale.trainer", "troupe-train", capnp::StructSchema::from<msg::TrainerArgs>()});
  return parse_command_line(words, kinds);
}

template <class Options>
Options options_of(const std::vector<std::string>& words) {
  const auto line = parse(words);
  BOOST_REQUIRE_MESSAGE(line.command.has_value(), line.text);
  return std::get<Options>(*line.command);
}

/// The first line of the text that a mistake gives.
inline std::string mistake(const std::vector<std::string>& words) {
  const auto line = parse(words);
  BOOST_TEST(!line.command.has_value());
  BOOST_TEST(line.exit_status == 2);
  return line.text.substr(0, line.text.find('\n'));
}

}  // namespace troupe::test
