// SPDX-License-Identifier: Apache-2.0
#include "apps/troupe/graph/graph_help.hpp"

#include "apps/troupe/table.hpp"
#include "messages/app_graph.capnp.h"
#include "messages/reflect.hpp"

#include <vector>

namespace troupe {
namespace {

std::string section(const std::string& title, capnp::StructSchema schema) {
  std::vector<TableRow> rows;
  for (const auto& key : describe(schema)) {
    rows.push_back({"  " + key.key, key.type, key.default_value, key.doc});
  }
  const auto doc = doc_of(schema);
  return title + (doc.empty() ? "" : "   # " + doc) + "\n" +
         format_table({"  KEY", "TYPE", "DEFAULT", "MEANING"}, rows) + "\n";
}

}  // namespace

std::string graph_help(const ActorKinds& kinds) {
  std::string out = "Keys of a graph:\n\n";
  out += section("[app]", capnp::StructSchema::from<msg::App>());
  out += section("[[actor]]", capnp::StructSchema::from<msg::Actor>());
  out += section("backoff = { ... }", capnp::StructSchema::from<msg::Backoff>());
  out += section("needs = { ... }", capnp::StructSchema::from<msg::Needs>());
  for (const auto& name : kinds.names()) {
    out += section("[actor.args] of kind = \"" + name + "\"", kinds.find(name)->args);
  }
  out += section("[[supervisor]]", capnp::StructSchema::from<msg::Supervisor>());
  out += section("intensity = { ... }", capnp::StructSchema::from<msg::Intensity>());
  return out;
}

}  // namespace troupe
