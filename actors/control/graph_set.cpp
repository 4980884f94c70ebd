// SPDX-License-Identifier: Apache-2.0
#include "actors/control/graph_set.hpp"

#include "messages/reflect.hpp"

#include <algorithm>
#include <utility>

namespace troupe {
namespace {

constexpr std::size_t max_options = 1000;
constexpr std::size_t max_option_size = 65536;
constexpr std::size_t max_keys = 12;

struct Assignment {
  std::string place;              // "--set trainers.count=3"
  std::vector<std::string> keys;  // "trainers", "count"
  TomlNode value;
};

Result<std::vector<std::string>> split_keys(const std::string& dotted, const std::string& place) {
  std::vector<std::string> keys(1);
  for (const char c : dotted) {
    if (c == '.') {
      keys.emplace_back();
    } else {
      keys.back() += c;
    }
  }
  if (keys.size() < 2 || keys.size() > max_keys ||
      std::any_of(keys.begin(), keys.end(), [](const auto& key) { return key.empty(); })) {
    return fail(
        ErrorCode::invalid_argument,
        place + ": expected TARGET.KEY=VALUE, such as app.seed=1 or trainers.args.epochs=2");
  }
  return keys;
}

bool starts_like_toml(const std::string& text) {
  return std::string("\"'[{").find(text.front()) != std::string::npos;
}

// A whole number of so many digits that none of our types holds it.
bool is_huge_number(std::string text) {
  if (text.front() == '-' || text.front() == '+') text.erase(0, 1);
  return text.size() > 18 &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

Result<TomlNode> parse_value(const std::string& text, const std::string& place) {
  if (text.empty()) {
    return fail(ErrorCode::invalid_argument,
                place + ": the value is missing; write \"\" for an empty text");
  }
  auto value = parse_toml_value(text, place);
  if (value) return value;
  if (is_huge_number(text)) {
    return fail(ErrorCode::invalid_argument,
                place + ": the number does not fit; the largest is 9223372036854775807");
  }
  if (starts_like_toml(text)) {
    return fail(ErrorCode::invalid_argument, place + ": the value is not complete TOML");
  }
  return TomlNode{Place{std::make_shared<const std::string>(place)}, text};
}

Result<Assignment> parse_option(const std::string& option) {
  const std::string place = "--set " + option.substr(0, 200);
  const auto equals = option.find('=');
  if (equals == std::string::npos || option.size() > max_option_size) {
    return fail(
        ErrorCode::invalid_argument,
        place + ": expected TARGET.KEY=VALUE, such as app.seed=1 or trainers.args.epochs=2");
  }
  auto keys = split_keys(option.substr(0, equals), place);
  if (!keys) return Failure(keys.error());
  auto value = parse_value(option.substr(equals + 1), place);
  if (!value) return Failure(value.error());
  return Assignment{place, std::move(*keys), std::move(*value)};
}

// The tables of an array of tables, `[[actor]]` or `[[supervisor]]`.
std::vector<TomlTable*> tables_of(TomlTable& document, std::string_view key) {
  std::vector<TomlTable*> tables;
  auto* entry = find_entry(document, key);
  if (entry == nullptr || entry->node.array() == nullptr) return tables;
  for (auto& element : *entry->node.array()) {
    if (auto* table = element.table()) tables.push_back(table);
  }
  return tables;
}

const std::string* path_of(const TomlTable& table) {
  const auto* entry = find_entry(table, "path");
  return entry == nullptr ? nullptr : entry->node.text();
}

TomlTable& add_root_supervisor(TomlTable& document, const Place& place) {
  auto* entry = find_entry(document, "supervisor");
  if (entry == nullptr) {
    document.push_back({"supervisor", place, TomlNode{place, TomlArray{}}});
    entry = &document.back();
  }
  auto& elements = *entry->node.array();
  elements.push_back(TomlNode{place, TomlTable{}});
  return *elements.back().table();
}

Result<TomlTable*> find_app(TomlTable& document, const Place& place) {
  auto* entry = find_entry(document, "app");
  if (entry == nullptr) {
    document.push_back({"app", place, TomlNode{place, TomlTable{}}});
    entry = &document.back();
  }
  if (auto* table = entry->node.table()) return table;
  return fail(ErrorCode::invalid_argument, entry->node.place.text() + ": expected a table [app]");
}

Result<TomlTable*> find_root_supervisor(TomlTable& document, const Place& place) {
  auto* entry = find_entry(document, "supervisor");
  if (entry != nullptr && entry->node.array() == nullptr) {
    return fail(ErrorCode::invalid_argument,
                entry->node.place.text() + ": expected tables [[supervisor]]");
  }
  for (auto* table : tables_of(document, "supervisor")) {
    const auto* path = path_of(*table);
    if (path == nullptr || *path == ".") return table;
  }
  return &add_root_supervisor(document, place);
}

Result<TomlTable*> find_target(TomlTable& document, const std::string& name, const Place& place) {
  if (name == "app") return find_app(document, place);
  if (name == "supervisor") return find_root_supervisor(document, place);
  std::vector<std::string> known = {"app", "supervisor"};
  for (const auto* list : {"actor", "supervisor"}) {
    for (auto* table : tables_of(document, list)) {
      const auto* path = path_of(*table);
      if (path == nullptr) continue;
      if (*path == name) return table;
      if (known.size() < 20) known.push_back(*path);
    }
  }
  return fail(ErrorCode::invalid_argument, place.text() + ": no actor or supervisor '" +
                                               name.substr(0, 64) + "'" +
                                               did_you_mean(name, known));
}

}  // namespace

Result<void> apply_set(TomlNode& document, const std::string& option) {
  auto assignment = parse_option(option);
  if (!assignment) return Failure(assignment.error());
  const Place place{std::make_shared<const std::string>(assignment->place)};
  auto target = find_target(*document.table(), assignment->keys.front(), place);
  if (!target) return Failure(target.error());
  auto* table = *target;
  for (std::size_t i = 1; i + 1 < assignment->keys.size(); ++i) {
    const auto& key = assignment->keys[i];
    auto* entry = find_entry(*table, key);
    if (entry == nullptr) {
      table->push_back({key, place, TomlNode{place, TomlTable{}}});
      entry = &table->back();
    }
    table = entry->node.table();
    if (table == nullptr) {
      return fail(ErrorCode::invalid_argument, place.text() + ": '" + key + "' holds " +
                                                   std::string(type_name(entry->node)) +
                                                   ", so nothing lies below it");
    }
  }
  const auto& key = assignment->keys.back();
  if (auto* entry = find_entry(*table, key)) {
    *entry = {key, place, std::move(assignment->value)};
  } else {
    table->push_back({key, place, std::move(assignment->value)});
  }
  return {};
}

Result<void> apply_sets(TomlNode& document, const std::vector<std::string>& options) {
  if (options.size() > max_options) {
    return fail(ErrorCode::invalid_argument, "more than 1000 --set options");
  }
  for (const auto& option : options) {
    if (auto done = apply_set(document, option); !done) return done;
  }
  return {};
}

}  // namespace troupe
