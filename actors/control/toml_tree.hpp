// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/result.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace troupe {

/// Where something was written: a file with line and column, or a `--set` option as a whole.
struct Place {
  std::shared_ptr<const std::string> origin;  ///< "graph.toml", "--set trainers.count=3"
  std::uint32_t line = 0;                     ///< 0: the place is the origin as a whole
  std::uint32_t column = 0;

  /// "graph.toml:3:7", "--set trainers.count=3"
  [[nodiscard]] std::string text() const;
};

struct TomlEntry;
/// A table's entries, in the order in which they were written.
using TomlTable = std::vector<TomlEntry>;
struct TomlNode;
using TomlArray = std::vector<TomlNode>;
/// A date or a time: TOML has them, no key of ours takes one.
struct TomlTime {};

/// One value of a TOML document together with its place. A copyable value: the rest of the room
/// works on this tree, and only toml_tree.cpp knows the parser.
struct TomlNode {
  Place place;
  std::variant<TomlTable, TomlArray, std::string, std::int64_t, double, bool, TomlTime> value;

  [[nodiscard]] TomlTable* table() { return std::get_if<TomlTable>(&value); }
  [[nodiscard]] const TomlTable* table() const { return std::get_if<TomlTable>(&value); }
  [[nodiscard]] TomlArray* array() { return std::get_if<TomlArray>(&value); }
  [[nodiscard]] const TomlArray* array() const { return std::get_if<TomlArray>(&value); }
  [[nodiscard]] const std::string* text() const { return std::get_if<std::string>(&value); }
};

struct TomlEntry {
  std::string key;
  Place place;  ///< of the key
  TomlNode node;
};

/// The entry of that name, or nullptr.
[[nodiscard]] TomlEntry* find_entry(TomlTable& table, std::string_view key);
[[nodiscard]] const TomlEntry* find_entry(const TomlTable& table, std::string_view key);

/// "a table", "a text", ...: what a value is called in an error.
[[nodiscard]] std::string_view type_name(const TomlNode& node);

/// Reads a TOML document; the error says `origin:line:col: what`. Nesting beyond 16 levels is
/// refused.
[[nodiscard]] Result<TomlNode> parse_toml(std::string_view text, const std::string& origin);

/// Reads one value, as on the right of a `=`; every place in the result is `origin` as a whole.
[[nodiscard]] Result<TomlNode> parse_toml_value(std::string_view text, const std::string& origin);

}  // namespace troupe
