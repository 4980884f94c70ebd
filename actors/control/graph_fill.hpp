// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/control/toml_tree.hpp"

#include <capnp/dynamic.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace troupe {

/// What is wrong with a graph, one thing: "graph.toml:4:1" and "unknown key 'cuont', did you mean
/// 'count'?".
struct GraphProblem {
  std::string place;
  std::string what;

  friend bool operator==(const GraphProblem&, const GraphProblem&) = default;
};
using GraphProblems = std::vector<GraphProblem>;

/// Remembers where each value of a graph was written, by its key: "actor[0].args.batch".
class GraphPlaces {
 public:
  explicit GraphPlaces(std::string file = {}) : file_(std::move(file)) {}

  void add(const std::string& key, Place place) { places_[key] = std::move(place); }

  /// Where the value is, or else the nearest thing around it, or else the file.
  [[nodiscard]] std::string find(std::string key) const;

 private:
  std::string file_;
  std::map<std::string, Place> places_;
};

/// Longest text and longest list that a graph may hold.
constexpr std::size_t max_text = 4096;
constexpr std::size_t max_list = 10000;

/// Fills a struct from a table of the same keys: names in snake_case, sizes and durations with
/// their unit, enums by word. Everything is checked before it is stored; whatever does not fit goes
/// to `problems` and leaves the default.
class GraphFill {
 public:
  GraphFill(GraphProblems& problems, GraphPlaces& places) : problems_(problems), places_(places) {}

  /// `prefix` is the key under which the struct's places are remembered: "actor[0]". A key whose
  /// field is an AnyPointer is passed over: what is in there is for the caller to know.
  void fill(capnp::DynamicStruct::Builder out, const TomlTable& table, const std::string& prefix);

 private:
  using Type = capnp::Type;

  void fill_field(capnp::DynamicStruct::Builder out, capnp::StructSchema::Field field,
                  const TomlEntry& entry, const std::string& key);
  void fill_list(capnp::DynamicStruct::Builder out, capnp::StructSchema::Field field,
                 const TomlEntry& entry, const std::string& key);
  /// `store` is called with the value if it fits the type.
  void scalar(Type type, capnp::StructSchema::Field field, const TomlNode& node,
              const std::function<void(const capnp::DynamicValue::Reader&)>& store);
  void problem(const Place& place, std::string what);

  GraphProblems& problems_;
  GraphPlaces& places_;
};

}  // namespace troupe
