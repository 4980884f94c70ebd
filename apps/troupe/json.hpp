// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/core/event.hpp"

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace troupe {

/// A JSON value; an object keeps its keys in the order in which they were given.
struct Json {
  using Array = std::vector<Json>;
  using Object = std::vector<std::pair<std::string, Json>>;

  Json() = default;
  Json(bool v) : value(v) {}
  Json(std::int64_t v) : value(v) {}
  Json(int v) : value(std::int64_t{v}) {}
  Json(unsigned v) : value(std::int64_t{v}) {}
  Json(double v) : value(v) {}
  Json(std::string v) : value(std::move(v)) {}
  Json(const char* v) : value(std::string(v)) {}
  Json(Array v) : value(std::move(v)) {}
  Json(Object v) : value(std::move(v)) {}

  std::variant<std::nullptr_t, bool, std::int64_t, double, std::string, Array, Object> value;
};

/// On one line. Bytes that are no UTF-8 become replacement characters, infinities become null.
[[nodiscard]] std::string to_text(const Json& json);

/// An event as `run -o json` prints it: {"event":"step","step":1,...}, without the line's end.
[[nodiscard]] std::string to_text(const Event& event);

}  // namespace troupe
