// SPDX-License-Identifier: Apache-2.0
#include "actors/control/toml_tree.hpp"

#include <toml++/toml.h>

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

namespace troupe {
namespace {

constexpr int max_depth = 16;

// Turns the parser's tree into ours.
class Converter {
 public:
  explicit Converter(const std::string& origin)
      : origin_(std::make_shared<const std::string>(origin)) {}

  Result<TomlNode> convert(const toml::node& from, int depth) const {
    TomlNode to;
    to.place = place(from.source());
    if (depth > max_depth) {
      return fail(ErrorCode::invalid_argument, to.place.text() + ": nested deeper than " +
                                                   std::to_string(max_depth) + " levels");
    }
    if (const auto* table = from.as_table()) return convert_table(*table, std::move(to), depth);
    if (const auto* array = from.as_array()) return convert_array(*array, std::move(to), depth);
    if (const auto* text = from.as_string()) {
      to.value = text->get();
    } else if (const auto* integer = from.as_integer()) {
      to.value = integer->get();
    } else if (const auto* real = from.as_floating_point()) {
      to.value = real->get();
    } else if (const auto* boolean = from.as_boolean()) {
      to.value = boolean->get();
    } else {
      to.value = TomlTime{};
    }
    return to;
  }

  [[nodiscard]] Place place(const toml::source_region& region) const {
    return {origin_, region.begin.line, region.begin.column};
  }

 private:
  Result<TomlNode> convert_table(const toml::table& from, TomlNode to, int depth) const {
    TomlTable entries;
    for (const auto& [key, value] : from) {
      auto node = convert(value, depth + 1);
      if (!node) return node;
      entries.push_back({std::string(key.str()), place(key.source()), std::move(*node)});
    }
    std::stable_sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) {
      return std::tie(a.place.line, a.place.column) < std::tie(b.place.line, b.place.column);
    });
    to.value = std::move(entries);
    return to;
  }

  Result<TomlNode> convert_array(const toml::array& from, TomlNode to, int depth) const {
    TomlArray elements;
    for (const auto& value : from) {
      auto node = convert(value, depth + 1);
      if (!node) return node;
      elements.push_back(std::move(*node));
    }
    to.value = std::move(elements);
    return to;
  }

  std::shared_ptr<const std::string> origin_;
};

// A `--set` option is its own place: a line and a column within it would tell nobody anything.
void forget_lines(TomlNode& node) {
  node.place.line = 0;
  if (auto* table = node.table()) {
    for (auto& entry : *table) {
      entry.place.line = 0;
      forget_lines(entry.node);
    }
  }
  if (auto* array = node.array()) {
    for (auto& element : *array) forget_lines(element);
  }
}

}  // namespace

std::string Place::text() const {
  const std::string name = origin ? *origin : std::string();
  if (line == 0) return name;
  return name + ":" + std::to_string(line) + ":" + std::to_string(column);
}

TomlEntry* find_entry(TomlTable& table, std::string_view key) {
  const auto it = std::find_if(table.begin(), table.end(),
                               [&](const TomlEntry& entry) { return entry.key == key; });
  return it == table.end() ? nullptr : &*it;
}

const TomlEntry* find_entry(const TomlTable& table, std::string_view key) {
  return find_entry(const_cast<TomlTable&>(table), key);
}

std::string_view type_name(const TomlNode& node) {
  static constexpr std::array<std::string_view, 7> names = {
      "a table",          "an array",      "a text",        "a whole number",
      "a decimal number", "true or false", "a date or time"};
  return names[node.value.index()];
}

Result<TomlNode> parse_toml(std::string_view text, const std::string& origin) {
  const Converter converter(origin);
  try {
    const toml::table document = toml::parse(text);
    return converter.convert(document, 0);
  } catch (const toml::parse_error& error) {
    return fail(ErrorCode::invalid_argument,
                converter.place(error.source()).text() + ": " + std::string(error.description()));
  }
}

Result<TomlNode> parse_toml_value(std::string_view text, const std::string& origin) {
  auto document = parse_toml("value = " + std::string(text), origin);
  if (!document) return document;
  auto& entries = *document->table();
  if (entries.size() != 1 || entries.front().key != "value") {
    return fail(ErrorCode::invalid_argument, origin + ": expected one value");
  }
  auto value = std::move(entries.front().node);
  forget_lines(value);
  return value;
}

}  // namespace troupe
