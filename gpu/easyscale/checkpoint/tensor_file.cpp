// SPDX-License-Identifier: Apache-2.0
#include "gpu/easyscale/checkpoint/tensor_file.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <set>
#include <utility>

namespace troupe::easyscale {
namespace {

constexpr std::uint64_t length_bytes = 8;
constexpr std::uint64_t data_alignment = 64;
constexpr std::uint64_t largest = std::numeric_limits<std::int64_t>::max();

struct DtypeRow {
  std::string_view name;
  std::size_t size;
};
constexpr std::array<DtypeRow, 13> dtypes = {{{"BOOL", 1},
                                              {"U8", 1},
                                              {"I8", 1},
                                              {"I16", 2},
                                              {"U16", 2},
                                              {"F16", 2},
                                              {"BF16", 2},
                                              {"I32", 4},
                                              {"U32", 4},
                                              {"F32", 4},
                                              {"I64", 8},
                                              {"U64", 8},
                                              {"F64", 8}}};

Failure damaged(const std::string& what) { return fail(ErrorCode::corrupt, what); }

// Takes the header's JSON event by event, so that nothing is built of what is not expected:
// {"name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, "__metadata__": {...}}.
class HeaderReader {
 public:
  using number_integer_t = nlohmann::json::number_integer_t;
  using number_unsigned_t = nlohmann::json::number_unsigned_t;
  using number_float_t = nlohmann::json::number_float_t;
  using string_t = nlohmann::json::string_t;
  using binary_t = nlohmann::json::binary_t;

  bool null() { return unexpected(); }
  bool boolean(bool) { return unexpected(); }
  bool number_integer(number_integer_t) { return unexpected(); }
  bool number_float(number_float_t, const string_t&) { return unexpected(); }
  bool binary(binary_t&) { return unexpected(); }

  bool number_unsigned(number_unsigned_t value) {
    if (at_ != At::list) return unexpected();
    std::vector<std::uint64_t>& list = key_ == "shape" ? shape() : offsets_;
    const std::size_t most = key_ == "shape" ? most_dimensions : 2;
    if (list.size() == most) return refuse("has too long a list of " + key_);
    list.push_back(value);
    return true;
  }

  bool string(string_t& value) {
    if (at_ == At::notes) return true;
    if (at_ != At::tensor || key_ != "dtype") return unexpected();
    const auto dtype = dtype_named(value);
    if (!dtype) return refuse("has a dtype that is not known: " + value.substr(0, 32));
    place_.info.dtype = *dtype;
    return true;
  }

  bool start_object(std::size_t) {
    if (at_ == At::start) return go(At::header);
    if (at_ != At::header || name_.empty()) return unexpected();
    if (name_ == "__metadata__") return go(At::notes);
    place_ = {{name_, Dtype::f32, {}}, 0, 0};
    offsets_.clear();
    keys_.clear();
    return go(At::tensor);
  }

  bool key(string_t& value) {
    if (at_ == At::notes) return true;
    if (at_ == At::header) {
      name_ = value;
      const bool notes = name_ == "__metadata__";
      if (!notes && !is_tensor_name(name_)) return refuse("has a name that cannot be one");
      if (!names_.insert(name_).second) return refuse("is there twice");
      return names_.size() <= most_tensors + 1 || refuse("is one too many");
    }
    key_ = value;
    if (key_ != "dtype" && key_ != "shape" && key_ != "data_offsets") {
      return refuse("has an unknown key: " + key_.substr(0, 32));
    }
    return keys_.insert(key_).second || refuse("has " + key_ + " twice");
  }

  bool end_object() {
    if (at_ == At::header) return go(At::end);
    if (at_ == At::tensor) {
      if (keys_.size() != 3 || offsets_.size() != 2) return refuse("lacks dtype, shape or offsets");
      place_.begin = offsets_[0];
      place_.end = offsets_[1];
      places_.push_back(std::move(place_));
    }
    name_.clear();
    return go(At::header);
  }

  bool start_array(std::size_t) {
    if (at_ != At::tensor || (key_ != "shape" && key_ != "data_offsets")) return unexpected();
    return go(At::list);
  }
  bool end_array() { return go(At::tensor); }

  bool parse_error(std::size_t position, const std::string&, const nlohmann::json::exception&) {
    why_ = "the header is no JSON, from byte " + std::to_string(position) + " on";
    return false;
  }

  [[nodiscard]] bool ended() const { return at_ == At::end; }
  [[nodiscard]] std::vector<TensorPlace> take() { return std::move(places_); }
  [[nodiscard]] const std::string& why() const { return why_; }

 private:
  enum class At : std::uint8_t { start, header, notes, tensor, list, end };

  std::vector<std::uint64_t>& shape() { return place_.info.shape; }
  bool go(At next) {
    at_ = next;
    return true;
  }
  bool refuse(const std::string& what) {
    why_ = "tensor \"" + name_.substr(0, most_name_bytes) + "\" " + what;
    return false;
  }
  bool unexpected() {
    why_ = "the header is not one of tensors";
    if (!name_.empty()) why_ += ": see \"" + name_.substr(0, most_name_bytes) + "\"";
    return false;
  }

  At at_ = At::start;
  std::string name_;
  std::string key_;
  TensorPlace place_;
  std::vector<std::uint64_t> offsets_;
  std::set<std::string> keys_;
  std::set<std::string> names_;
  std::vector<TensorPlace> places_;
  std::string why_;
};

// Makes places of offsets: [begin, end) within the file, in order, each as long as its shape says.
Result<void> place_all(std::vector<TensorPlace>& places, std::uint64_t data_begin,
                       std::uint64_t data_size) {
  std::sort(places.begin(), places.end(), [](const TensorPlace& a, const TensorPlace& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  std::uint64_t reached = 0;
  for (TensorPlace& place : places) {
    const std::string who = "tensor \"" + place.info.name + "\"";
    const auto size = byte_size(place.info);
    if (!size) return Failure(size.error());
    if (place.begin > place.end || place.end > data_size) {
      return damaged(who + " lies outside of the file");
    }
    if (place.end - place.begin != *size) {
      return damaged(who + " has " + std::to_string(place.end - place.begin) +
                     " bytes, and its shape says " + std::to_string(*size));
    }
    if (place.begin < reached) return damaged(who + " overlaps the one before it");
    if (place.begin > reached) return damaged("there is a hole in front of " + who);
    reached = place.end;
    place.begin += data_begin;
    place.end += data_begin;
  }
  if (reached != data_size) return damaged("the file goes on after its last tensor");
  return {};
}

}  // namespace

std::string_view name_of(Dtype dtype) { return dtypes.at(static_cast<std::size_t>(dtype)).name; }

std::optional<Dtype> dtype_named(std::string_view name) {
  for (std::size_t i = 0; i < dtypes.size(); ++i) {
    if (dtypes.at(i).name == name) return static_cast<Dtype>(i);
  }
  return std::nullopt;
}

std::size_t size_of(Dtype dtype) { return dtypes.at(static_cast<std::size_t>(dtype)).size; }

bool is_tensor_name(std::string_view name) {
  return !name.empty() && name.size() <= most_name_bytes && name != "__metadata__" &&
         std::all_of(name.begin(), name.end(),
                     [](char c) { return c > ' ' && c <= '~' && c != '"' && c != '\\'; });
}

Result<std::uint64_t> byte_size(const TensorInfo& tensor) {
  const auto too_large = [&] { return damaged("tensor \"" + tensor.name + "\" is too large"); };
  if (tensor.shape.size() > most_dimensions) return too_large();
  std::uint64_t size = size_of(tensor.dtype);
  for (const std::uint64_t length : tensor.shape) {
    if (length == 0) return std::uint64_t{0};
    if (length > largest / size) return too_large();
    size *= length;
  }
  return size;
}

Result<std::string> make_tensor_header(std::span<const TensorInfo> tensors,
                                       const std::map<std::string, std::string>& notes) {
  std::string json = "{\"__metadata__\":{";
  for (const auto& [key, value] : notes) {
    if (!is_tensor_name(key) || !is_tensor_name(value)) {
      return fail(ErrorCode::invalid_argument, "a note that cannot be written: " + key);
    }
    json += (json.back() == '{' ? "\"" : ",\"") + key + "\":\"" + value + "\"";
  }
  json += "}";
  std::uint64_t offset = 0;
  for (const TensorInfo& tensor : tensors) {
    if (!is_tensor_name(tensor.name)) {
      return fail(ErrorCode::invalid_argument,
                  "a tensor cannot be written under the name \"" + tensor.name + "\"");
    }
    const auto size = byte_size(tensor);
    if (!size) return Failure(size.error());
    json += ",\"" + tensor.name + "\":{\"dtype\":\"" + std::string(name_of(tensor.dtype)) +
            "\",\"shape\":[";
    for (std::size_t i = 0; i < tensor.shape.size(); ++i) {
      json += (i == 0 ? "" : ",") + std::to_string(tensor.shape[i]);
    }
    json += "],\"data_offsets\":[" + std::to_string(offset);
    offset += *size;
    json += "," + std::to_string(offset) + "]}";
  }
  json += "}";
  const std::uint64_t odd = (length_bytes + json.size()) % data_alignment;
  if (odd != 0) json.append(data_alignment - odd, ' ');
  if (tensors.size() > most_tensors || json.size() > most_header_bytes) {
    return fail(ErrorCode::invalid_argument, "too many tensors for one file");
  }
  std::string out(length_bytes, '\0');
  for (std::size_t i = 0; i < length_bytes; ++i) {
    out[i] = static_cast<char>((json.size() >> (8 * i)) & 0xffU);
  }
  return out + json;
}

Result<std::uint64_t> tensor_header_bytes(std::span<const std::byte> first,
                                          std::uint64_t file_size) {
  if (first.size() < length_bytes || file_size < length_bytes) {
    return damaged("too short for a file of tensors");
  }
  std::uint64_t length = 0;
  for (std::size_t i = 0; i < length_bytes; ++i) {
    length |= std::to_integer<std::uint64_t>(first[i]) << (8 * i);
  }
  if (length < 2 || length > most_header_bytes || length > file_size - length_bytes) {
    return damaged("no file of tensors: its header would have " + std::to_string(length) +
                   " bytes");
  }
  return length_bytes + length;
}

Result<std::vector<TensorPlace>> read_tensor_header(std::span<const std::byte> start,
                                                    std::uint64_t file_size) {
  const auto size = tensor_header_bytes(start, file_size);
  if (!size) return Failure(size.error());
  if (start.size() < *size) return damaged("the header is cut short");
  const auto* text = reinterpret_cast<const char*>(start.data());
  HeaderReader reader;
  const bool read = nlohmann::json::sax_parse(text + length_bytes, text + *size, &reader);
  if (!read || !reader.ended()) {
    return damaged(reader.why().empty() ? "the header is cut short" : reader.why());
  }
  auto places = reader.take();
  if (auto ok = place_all(places, *size, file_size - *size); !ok) return Failure(ok.error());
  return places;
}

}  // namespace troupe::easyscale
