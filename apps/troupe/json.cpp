// SPDX-License-Identifier: Apache-2.0
#include "apps/troupe/json.hpp"

#include <nlohmann/json.hpp>

#include <type_traits>

namespace troupe {
namespace {

using Document = nlohmann::ordered_json;

Document convert(const Json& json);

Document convert(const Json::Array& array) {
  auto out = Document::array();
  for (const auto& element : array) out.push_back(convert(element));
  return out;
}

Document convert(const Json::Object& object) {
  auto out = Document::object();
  for (const auto& [key, value] : object) out[key] = convert(value);
  return out;
}

Document convert(const Json& json) {
  return std::visit(
      [](const auto& value) {
        using Value = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<Value, Json::Array> || std::is_same_v<Value, Json::Object>) {
          return convert(value);
        } else {
          return Document(value);
        }
      },
      json.value);
}

}  // namespace

std::string to_text(const Json& json) {
  return convert(json).dump(-1, ' ', false, Document::error_handler_t::replace);
}

std::string to_text(const Event& event) {
  Json::Object object = {{"event", event.name}};
  for (const auto& [key, value] : event.fields) {
    object.emplace_back(key, std::visit([](const auto& v) { return Json(v); }, value));
  }
  return to_text(Json(std::move(object)));
}

}  // namespace troupe
