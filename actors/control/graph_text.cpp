// SPDX-License-Identifier: Apache-2.0
#include "actors/control/graph_text.hpp"

#include "messages/reflect.hpp"

#include <capnp/dynamic.h>

#include <string_view>

namespace troupe {
namespace {

using capnp::DynamicStruct;
using capnp::DynamicValue;

std::string quote(std::string_view text) {
  constexpr std::string_view hex = "0123456789ABCDEF";
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20 || byte == 0x7f) {
      out += "\\u00";
      out += hex[byte >> 4];
      out += hex[byte & 15];
    } else {
      out += c;
    }
  }
  return out + "\"";
}

std::string name_of(capnp::StructSchema::Field field) {
  return to_snake(field.getProto().getName().cStr());
}

std::string value_text(const DynamicValue::Reader& value);

// Empty texts are what an absent key means, so they are left out.
bool is_shown(DynamicStruct::Reader from, capnp::StructSchema::Field field) {
  const auto type = field.getType();
  if (type.isAnyPointer()) return false;
  if (type.isText()) return from.get(field).as<capnp::Text>().size() > 0;
  return !type.isList() || from.get(field).as<capnp::DynamicList>().size() > 0;
}

std::string inline_table(DynamicStruct::Reader from) {
  std::string out;
  for (auto field : from.getSchema().getFields()) {
    if (!is_shown(from, field)) continue;
    out += (out.empty() ? "" : ", ") + name_of(field) + " = " + value_text(from.get(field));
  }
  return out.empty() ? "{}" : "{ " + out + " }";
}

std::string inline_array(capnp::DynamicList::Reader from) {
  std::string out;
  for (const auto& element : from) out += (out.empty() ? "" : ", ") + value_text(element);
  return "[" + out + "]";
}

// TOML tells 1.0 from 1; a float that prints like a whole number gets its point back.
std::string real_text(const DynamicValue::Reader& value) {
  std::string text = kj::str(value.as<double>()).cStr();
  const bool whole = text.find_first_of(".e") == std::string::npos;
  return whole ? text + ".0" : text;
}

std::string value_text(const DynamicValue::Reader& value) {
  switch (value.getType()) {
    case DynamicValue::TEXT: {
      const auto text = value.as<capnp::Text>();
      return quote({text.cStr(), text.size()});
    }
    case DynamicValue::ENUM: {
      const auto word = value.as<capnp::DynamicEnum>();
      const auto words = words_of(word.getSchema());
      return word.getRaw() < words.size() ? quote(words[word.getRaw()])
                                          : std::to_string(word.getRaw());
    }
    case DynamicValue::FLOAT:
      return real_text(value);
    case DynamicValue::STRUCT:
      return inline_table(value.as<DynamicStruct>());
    case DynamicValue::LIST:
      return inline_array(value.as<capnp::DynamicList>());
    default:
      return kj::str(value).cStr();
  }
}

// The keys of one table, each on a line of its own.
std::string table_lines(DynamicStruct::Reader from) {
  std::string out;
  for (auto field : from.getSchema().getFields()) {
    if (is_shown(from, field)) out += name_of(field) + " = " + value_text(from.get(field)) + "\n";
  }
  return out;
}

}  // namespace

std::string graph_text(msg::AppGraph::Reader graph, const ActorKinds& kinds) {
  std::string out = "[app]\n" + table_lines(graph.getApp());
  for (auto actor : graph.getActor()) {
    out += "\n[[actor]]\n" + table_lines(actor);
    if (const auto* kind = kinds.find(actor.getKind().cStr())) {
      out += "[actor.args]\n" + table_lines(actor.getArgs().getAs<DynamicStruct>(kind->args));
    }
  }
  for (auto supervisor : graph.getSupervisor()) {
    out += "\n[[supervisor]]\n" + table_lines(supervisor);
  }
  return out;
}

}  // namespace troupe
