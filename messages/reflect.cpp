// SPDX-License-Identifier: Apache-2.0
#include "messages/reflect.hpp"

#include <capnp/dynamic.h>
#include <capnp/message.h>

#include <algorithm>
#include <charconv>
#include <initializer_list>
#include <limits>
#include <utility>

namespace troupe {
namespace {

// The ids that common.capnp gives its annotations.
constexpr std::uint64_t doc_id = 0xc3a1f0d1e8b7a602;
constexpr std::uint64_t unit_id = 0xd7e21c7a9c54b803;

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }
bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }

std::string lower(std::string_view word) {
  std::string out(word);
  for (char& c : out) c = lower(c);
  return out;
}

template <class Proto>
std::string annotation(Proto proto, std::uint64_t id) {
  for (auto a : proto.getAnnotations()) {
    if (a.getId() == id && a.getValue().isText()) return a.getValue().getText().cStr();
  }
  return {};
}

std::string join(const std::vector<std::string>& words) {
  constexpr std::size_t shown = 12;
  std::string all;
  for (std::size_t i = 0; i < std::min(words.size(), shown); ++i) {
    all += (all.empty() ? "" : ", ") + words[i];
  }
  return words.size() > shown ? all + ", ..." : all;
}

struct UnitName {
  std::string_view name;
  std::uint64_t factor;
};

// Reads "<digits><blanks><unit>"; `units` is listed in the error.
Result<std::uint64_t> parse_quantity(std::string_view text, std::initializer_list<UnitName> units) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc::invalid_argument) {
    return fail(ErrorCode::invalid_argument, "expected a whole number and a unit");
  }
  auto rest = text.substr(static_cast<std::size_t>(end - text.data()));
  if (!rest.empty() && rest.front() == '.') {
    return fail(ErrorCode::invalid_argument, "must be a whole number; take a smaller unit");
  }
  while (!rest.empty() && rest.front() == ' ') rest.remove_prefix(1);
  std::vector<std::string> names;
  for (const auto& unit : units) {
    if (unit.name == rest) {
      if (error == std::errc::result_out_of_range ||
          number > std::numeric_limits<std::int64_t>::max() / unit.factor) {
        return fail(ErrorCode::invalid_argument, "is too large");
      }
      return number * unit.factor;
    }
    names.emplace_back(unit.name);
  }
  const auto problem = rest.empty() ? std::string("has no unit")
                                    : "unknown unit '" + std::string(rest.substr(0, 16)) + "'";
  return fail(ErrorCode::invalid_argument, problem + ", use one of: " + join(names));
}

std::string default_text(capnp::DynamicStruct::Reader empty, capnp::StructSchema::Field field) {
  const auto type = field.getType();
  if (type.isStruct() || type.isList() || type.isAnyPointer()) return {};
  const auto value = empty.get(field);
  if (type.isText()) {
    const auto text = value.as<capnp::Text>();
    return text.size() == 0 ? std::string() : "\"" + std::string(text.cStr()) + "\"";
  }
  if (type.isEnum()) {
    const auto raw = value.as<capnp::DynamicEnum>().getRaw();
    const auto words = words_of(type.asEnum());
    return raw < words.size() ? "\"" + words[raw] + "\"" : std::string();
  }
  return kj::str(value).cStr();
}

bool is_integer(capnp::Type type) {
  return type.isUInt8() || type.isUInt16() || type.isUInt32() || type.isUInt64() || type.isInt8() ||
         type.isInt16() || type.isInt32() || type.isInt64();
}

}  // namespace

std::string to_snake(std::string_view camel) {
  std::string out;
  for (const char c : camel) {
    if (is_upper(c) && !out.empty()) out += '_';
    out += lower(c);
  }
  return out;
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  const auto x = lower(a), y = lower(b);
  const auto width = y.size() + 1;
  std::vector<std::size_t> rows(3 * width);  // the row in work and the two before it
  auto *before = rows.data(), *above = before + width, *row = above + width;
  for (std::size_t j = 0; j < width; ++j) row[j] = j;
  for (std::size_t i = 1; i <= x.size(); ++i) {
    std::swap(before, above);
    std::swap(above, row);
    row[0] = i;
    for (std::size_t j = 1; j < width; ++j) {
      const std::size_t change = x[i - 1] == y[j - 1] ? 0 : 1;
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + change});
      if (i > 1 && j > 1 && x[i - 1] == y[j - 2] && x[i - 2] == y[j - 1]) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
  }
  return row[y.size()];
}

std::string nearest(std::string_view word, const std::vector<std::string>& known) {
  if (word.size() > 64) return {};
  std::string best;
  // One slip in three letters, three at most; words of one or two letters are too short to guess.
  auto distance = 1 + (word.size() < 3 ? 0 : std::min<std::size_t>(3, word.size() / 3));
  for (const auto& candidate : known) {
    const auto d = edit_distance(word, candidate);
    if (d < distance && d < candidate.size()) {
      distance = d;
      best = candidate;
    }
  }
  return best;
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& known) {
  if (auto best = nearest(word, known); !best.empty()) return ", did you mean '" + best + "'?";
  return known.empty() ? std::string() : "; known: " + join(known);
}

std::string doc_of(capnp::Schema schema) { return annotation(schema.getProto(), doc_id); }
std::string doc_of(capnp::StructSchema::Field f) { return annotation(f.getProto(), doc_id); }
std::string doc_of(capnp::EnumSchema::Enumerant e) { return annotation(e.getProto(), doc_id); }

Unit unit_of(capnp::StructSchema::Field field) {
  const auto unit = annotation(field.getProto(), unit_id);
  if (unit == "bytes") return Unit::bytes;
  return unit == "duration" ? Unit::duration : Unit::none;
}

std::vector<std::string> keys_of(capnp::StructSchema schema) {
  std::vector<std::string> keys;
  for (auto field : schema.getFields()) keys.push_back(to_snake(field.getProto().getName().cStr()));
  return keys;
}

std::vector<std::string> words_of(capnp::EnumSchema schema) {
  std::vector<std::string> words;
  for (auto e : schema.getEnumerants()) words.push_back(to_snake(e.getProto().getName().cStr()));
  return words;
}

Result<capnp::StructSchema::Field> find_field(capnp::StructSchema schema, std::string_view key) {
  for (auto field : schema.getFields()) {
    if (to_snake(field.getProto().getName().cStr()) == key) return field;
  }
  return fail(ErrorCode::invalid_argument, "unknown key '" + std::string(key.substr(0, 64)) + "'" +
                                               did_you_mean(key, keys_of(schema)));
}

Result<capnp::EnumSchema::Enumerant> find_enumerant(capnp::EnumSchema schema,
                                                    std::string_view word) {
  for (auto e : schema.getEnumerants()) {
    if (to_snake(e.getProto().getName().cStr()) == lower(word)) return e;
  }
  const auto words = words_of(schema);
  const auto best = nearest(word, words);
  return fail(ErrorCode::invalid_argument, "expected one of: " + join(words) + "; not '" +
                                               std::string(word.substr(0, 64)) + "'" +
                                               (best.empty() ? "" : did_you_mean(word, words)));
}

Result<Bytes> parse_bytes(std::string_view text) {
  auto count = parse_quantity(text, {{"B", 1},
                                     {"KiB", 1ull << 10},
                                     {"MiB", 1ull << 20},
                                     {"GiB", 1ull << 30},
                                     {"TiB", 1ull << 40}});
  if (!count) return Failure(count.error());
  return Bytes{*count};
}

Result<Millis> parse_duration(std::string_view text) {
  auto count = parse_quantity(text, {{"ms", 1}, {"s", 1000}, {"min", 60'000}, {"h", 3'600'000}});
  if (!count) return Failure(count.error());
  return Millis(static_cast<Millis::rep>(*count));
}

std::string type_name(capnp::Type type, Unit unit) {
  if (unit == Unit::bytes) return "a size such as \"512MiB\"";
  if (unit == Unit::duration) return "a duration such as \"30s\"";
  if (type.isText()) return "a text";
  if (type.isBool()) return "true or false";
  if (type.isEnum()) return "one of: " + join(words_of(type.asEnum()));
  if (type.isFloat32() || type.isFloat64()) return "a number";
  if (type.isList()) return "an array";
  return is_integer(type) ? "a whole number" : "a table";
}

std::vector<KeyHelp> describe(capnp::StructSchema schema) {
  capnp::MallocMessageBuilder message(64);
  const auto empty = message.initRoot<capnp::DynamicStruct>(schema).asReader();
  std::vector<KeyHelp> all;
  for (auto field : schema.getFields()) {
    all.push_back({to_snake(field.getProto().getName().cStr()),
                   type_name(field.getType(), unit_of(field)), default_text(empty, field),
                   doc_of(field)});
  }
  return all;
}

}  // namespace troupe
