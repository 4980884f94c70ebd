// SPDX-License-Identifier: Apache-2.0
#include "actors/control/graph_fill.hpp"

#include "messages/reflect.hpp"

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>

namespace troupe {
namespace {

using capnp::DynamicStruct;
using capnp::DynamicValue;

constexpr std::size_t max_problems = 20;

struct Range {
  std::int64_t low;
  std::int64_t high;
};

template <class T>
constexpr Range range_of() {
  using Limits = std::numeric_limits<T>;
  constexpr auto top = std::numeric_limits<std::int64_t>::max();
  return {static_cast<std::int64_t>(Limits::min()),
          static_cast<std::uint64_t>(Limits::max()) > static_cast<std::uint64_t>(top)
              ? top
              : static_cast<std::int64_t>(Limits::max())};
}

// What an integer type can hold (TOML's own integers end at 2^63 - 1); nothing for other types.
std::optional<Range> range_of(capnp::Type type) {
  using Which = capnp::schema::Type::Which;
  switch (type.which()) {
    case Which::INT8:
      return range_of<std::int8_t>();
    case Which::INT16:
      return range_of<std::int16_t>();
    case Which::INT32:
      return range_of<std::int32_t>();
    case Which::INT64:
      return range_of<std::int64_t>();
    case Which::UINT8:
      return range_of<std::uint8_t>();
    case Which::UINT16:
      return range_of<std::uint16_t>();
    case Which::UINT32:
      return range_of<std::uint32_t>();
    case Which::UINT64:
      return range_of<std::uint64_t>();
    default:
      return std::nullopt;
  }
}

std::string expected(capnp::Type type, capnp::StructSchema::Field field, const TomlNode& node) {
  const auto doc = doc_of(field);
  return "expected " + type_name(type, unit_of(field)) + ", not " + std::string(type_name(node)) +
         (doc.empty() ? "" : " (" + doc + ")");
}

// An integer, or a text with the unit that the field counts in.
Result<std::int64_t> integer(capnp::Type type, capnp::StructSchema::Field field,
                             const TomlNode& node) {
  std::int64_t number = 0;
  const auto unit = unit_of(field);
  if (const auto* plain = std::get_if<std::int64_t>(&node.value)) {
    number = *plain;
  } else if (node.text() != nullptr && unit == Unit::bytes) {
    const auto bytes = parse_bytes(*node.text());
    if (!bytes) return Failure(bytes.error());
    number = static_cast<std::int64_t>(bytes->count);
  } else if (node.text() != nullptr && unit == Unit::duration) {
    const auto duration = parse_duration(*node.text());
    if (!duration) return Failure(duration.error());
    number = duration->count();
  } else {
    return fail(ErrorCode::invalid_argument, expected(type, field, node));
  }
  const auto range = *range_of(type);
  if (number < range.low) {
    return fail(ErrorCode::invalid_argument, range.low == 0
                                                 ? "must not be negative"
                                                 : "must be at least " + std::to_string(range.low));
  }
  if (number > range.high) {
    return fail(ErrorCode::invalid_argument, "must be at most " + std::to_string(range.high));
  }
  return number;
}

Result<double> real(capnp::Type type, capnp::StructSchema::Field field, const TomlNode& node) {
  if (const auto* whole = std::get_if<std::int64_t>(&node.value))
    return static_cast<double>(*whole);
  const auto* number = std::get_if<double>(&node.value);
  if (number == nullptr) return fail(ErrorCode::invalid_argument, expected(type, field, node));
  if (!std::isfinite(*number)) return fail(ErrorCode::invalid_argument, "must be a finite number");
  return *number;
}

}  // namespace

std::string GraphPlaces::find(std::string key) const {
  while (!key.empty()) {
    if (const auto it = places_.find(key); it != places_.end()) return it->second.text();
    const auto cut = key.find_last_of(".[");
    key.resize(cut == std::string::npos ? 0 : cut);
  }
  return file_;
}

void GraphFill::problem(const Place& place, std::string what) {
  if (problems_.size() < max_problems) problems_.push_back({place.text(), std::move(what)});
}

void GraphFill::fill(DynamicStruct::Builder out, const TomlTable& table,
                     const std::string& prefix) {
  for (const auto& entry : table) {
    const auto field = find_field(out.getSchema(), entry.key);
    if (!field) {
      problem(entry.place, field.error().what);
      continue;
    }
    const auto key = prefix.empty() ? entry.key : prefix + "." + entry.key;
    places_.add(key, entry.node.place);
    if (!field->getType().isAnyPointer()) fill_field(out, *field, entry, key);
  }
}

void GraphFill::fill_field(DynamicStruct::Builder out, capnp::StructSchema::Field field,
                           const TomlEntry& entry, const std::string& key) {
  const auto type = field.getType();
  if (type.isList()) return fill_list(out, field, entry, key);
  if (!type.isStruct()) {
    return scalar(type, field, entry.node,
                  [&](const DynamicValue::Reader& value) { out.set(field, value); });
  }
  if (const auto* table = entry.node.table()) {
    fill(out.init(field).as<DynamicStruct>(), *table, key);
  } else {
    problem(entry.node.place, expected(type, field, entry.node));
  }
}

void GraphFill::fill_list(DynamicStruct::Builder out, capnp::StructSchema::Field field,
                          const TomlEntry& entry, const std::string& key) {
  const auto element = field.getType().asList().getElementType();
  const auto* array = entry.node.array();
  if (array == nullptr) {
    const auto header = entry.node.table() != nullptr && element.isStruct();
    return problem(entry.node.place, header ? "write [[" + entry.key +
                                                  "]], with double brackets: there can be several"
                                            : expected(field.getType(), field, entry.node));
  }
  if (array->size() > max_list) {
    return problem(entry.place, std::to_string(array->size()) + " entries of '" + entry.key +
                                    "', at most " + std::to_string(max_list) + " are allowed");
  }
  auto list = out.init(field, static_cast<unsigned>(array->size())).as<capnp::DynamicList>();
  for (unsigned i = 0; i < array->size(); ++i) {
    const auto& node = (*array)[i];
    const auto name = key + "[" + std::to_string(i) + "]";
    places_.add(name, node.place);
    if (!element.isStruct()) {
      scalar(element, field, node, [&](const DynamicValue::Reader& value) { list.set(i, value); });
    } else if (const auto* table = node.table()) {
      fill(list[i].as<DynamicStruct>(), *table, name);
    } else {
      problem(node.place, expected(element, field, node));
    }
  }
}

void GraphFill::scalar(Type type, capnp::StructSchema::Field field, const TomlNode& node,
                       const std::function<void(const DynamicValue::Reader&)>& store) {
  if (type.isText() && node.text() != nullptr) {
    if (node.text()->size() > max_text) {
      return problem(node.place, "longer than " + std::to_string(max_text) + " bytes");
    }
    if (node.text()->find('\0') != std::string::npos) {
      return problem(node.place, "a text must not hold a NUL character");
    }
    return store(capnp::Text::Reader(node.text()->c_str(), node.text()->size()));
  }
  if (type.isBool() && std::holds_alternative<bool>(node.value)) {
    return store(std::get<bool>(node.value));
  }
  if (type.isEnum() && node.text() != nullptr) {
    const auto word = find_enumerant(type.asEnum(), *node.text());
    return word ? store(capnp::DynamicEnum(*word)) : problem(node.place, word.error().what);
  }
  if (range_of(type)) {
    const auto number = integer(type, field, node);
    return number ? store(*number) : problem(node.place, number.error().what);
  }
  if (type.isFloat32() || type.isFloat64()) {
    const auto number = real(type, field, node);
    return number ? store(*number) : problem(node.place, number.error().what);
  }
  problem(node.place, expected(type, field, node));
}

}  // namespace troupe
