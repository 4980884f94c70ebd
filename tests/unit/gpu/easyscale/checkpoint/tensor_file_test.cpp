// SPDX-License-Identifier: Apache-2.0
#include "gpu/easyscale/checkpoint/tensor_file.hpp"

#include "tests/unit/gpu/easyscale/checkpoint/states.hpp"

#include <random>

namespace troupe::easyscale {
namespace {

using test::has;

const std::vector<TensorInfo> three = {
    {"steps", Dtype::i64, {}}, {"layer.weight", Dtype::f32, {2, 3}}, {"mask", Dtype::boolean, {5}}};
constexpr std::size_t data_size = 8 + 24 + 5;

std::string file_of(const std::string& json, std::size_t data) {
  std::string out(8, '\0');
  for (std::size_t i = 0; i < 8; ++i) out[i] = static_cast<char>(json.size() >> (8 * i) & 0xff);
  return out + json + std::string(data, 'x');
}

Result<std::vector<TensorPlace>> read(const std::string& file) {
  return read_tensor_header(std::as_bytes(std::span(file)), file.size());
}

std::string refusal(const std::string& json, std::size_t data) {
  const auto read_it = read(file_of(json, data));
  BOOST_TEST(!read_it, json);
  if (read_it) return "";
  BOOST_TEST((read_it.error().code == ErrorCode::corrupt));
  return read_it.error().what;
}

BOOST_AUTO_TEST_CASE(what_is_written_is_read_again) {
  const auto header = make_tensor_header(three, {{"format", "pt"}}).value();
  BOOST_TEST(header.size() % 64 == 0U);
  const auto places = read(header + std::string(data_size, 'x')).value();
  BOOST_REQUIRE(places.size() == 3U);
  for (std::size_t i = 0; i < 3; ++i) BOOST_TEST((places[i].info == three[i]));
  BOOST_TEST(places[1].begin == header.size() + 8);
  BOOST_TEST(places[1].end == header.size() + 32);
}

BOOST_AUTO_TEST_CASE(the_header_is_as_the_format_has_it) {
  const auto header = make_tensor_header(three, {{"format", "pt"}}).value();
  BOOST_TEST(has(header, R"({"__metadata__":{"format":"pt"},"steps":{"dtype":"I64","shape":[],)"
                         R"("data_offsets":[0,8]},"layer.weight":{"dtype":"F32","shape":[2,3],)"
                         R"("data_offsets":[8,32]},"mask":{"dtype":"BOOL","shape":[5],)"
                         R"("data_offsets":[32,37]}})"));
}

BOOST_AUTO_TEST_CASE(files_of_other_programs_are_read) {
  const auto places = read(file_of(R"({"b":{"shape":[2],"data_offsets":[4,8],"dtype":"BF16"},
      "a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}, "__metadata__":{"x":"y\u00e9"}})",
                                   8));
  BOOST_REQUIRE(places);
  BOOST_TEST(places->at(0).info.name == "a");  // in the order of their bytes
  BOOST_TEST(places->at(1).info.name == "b");
}

BOOST_AUTO_TEST_CASE(what_is_wrong_with_a_tensor_is_said_with_its_name) {
  const auto one = [](const std::string& rest) { return "{\"w\":{" + rest + "}}"; };
  const std::string good = R"("dtype":"F32","shape":[2],"data_offsets":)";
  BOOST_TEST(has(refusal(one(good + "[0,8]"), 7), "\"w\" lies outside of the file"));
  BOOST_TEST(has(refusal(one(good + "[0,8]"), 9), "goes on after its last tensor"));
  BOOST_TEST(has(refusal(one(good + "[8,0]"), 8), "\"w\" lies outside"));
  BOOST_TEST(has(refusal(one(good + "[4,12]"), 12), "hole in front of tensor \"w\""));
  BOOST_TEST(has(refusal(one(good + "[0,4]"), 4), "\"w\" has 4 bytes, and its shape says 8"));
  BOOST_TEST(has(refusal(one(good + "[0,18446744073709551615]"), 8), "\"w\""));
  BOOST_TEST(has(refusal(one(good + "[0,8,9]"), 8), "\"w\" has too long a list"));
  BOOST_TEST(has(refusal(one(good + "[-1,8]"), 8), "see \"w\""));
  BOOST_TEST(has(refusal(one(good + "[0.5,8]"), 8), "see \"w\""));
  BOOST_TEST(has(refusal(one(good + "[[0,8]]"), 8), "see \"w\""));
  BOOST_TEST(has(refusal(one(good + "[0]"), 8), "\"w\" lacks"));
  BOOST_TEST(has(refusal(one(R"("dtype":"F32","shape":[2])"), 8), "\"w\" lacks"));
  BOOST_TEST(has(refusal(one(R"("dtype":"F31","shape":[2],"data_offsets":[0,8])"), 8), "F31"));
  BOOST_TEST(has(refusal(one(good + R"([0,8],"more":1)"), 8), "\"w\" has an unknown key: more"));
  BOOST_TEST(has(refusal(one(good + R"([0,8],"dtype":"F32")"), 8), "\"w\" has dtype twice"));
  BOOST_TEST(has(
      refusal(one(R"("dtype":"F32","shape":[4294967296,4294967296,2],"data_offsets":[0,8])"), 8),
      "\"w\" is too large"));
  BOOST_TEST(has(
      refusal(
          one(R"("dtype":"F32","shape":[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1],"data_offsets":[0,4])"),
          4),
      "\"w\" has too long a list"));
}

BOOST_AUTO_TEST_CASE(tensors_that_overlap_or_share_a_name_are_refused) {
  const std::string w = R"("w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]})";
  BOOST_TEST(has(refusal("{" + w + "," + w + "}", 8), "\"w\" is there twice"));
  const std::string v = R"("v":{"dtype":"F32","shape":[2],"data_offsets":[4,12]})";
  BOOST_TEST(has(refusal("{" + w + "," + v + "}", 12), "\"v\" overlaps"));
}

BOOST_AUTO_TEST_CASE(other_json_and_other_bytes_are_refused) {
  for (const std::string json :
       {"[]", "{}x", "null", "{\"w\":1}", "{\"w\":{\"dtype\":{}}}", "\"w\"",
        "{\"__metadata__\":{\"a\":1}}", "{\"\":{}}", "{\"a b\":{}}", "  ", "{\"w\":[]}",
        "[[[[[[[[[[", "{\"__metadata__\":[\"a\"]}"}) {
    BOOST_TEST(!refusal(json, 0).empty(), json);
  }
  const auto size_of_header = [](std::uint64_t length, std::uint64_t file) {
    std::string first(8, '\0');
    for (std::size_t i = 0; i < 8; ++i) first[i] = static_cast<char>(length >> (8 * i) & 0xff);
    return tensor_header_bytes(std::as_bytes(std::span(first)), file);
  };
  BOOST_TEST(size_of_header(100, 108).value() == 108U);
  BOOST_TEST(!size_of_header(101, 108));
  BOOST_TEST(!size_of_header(0, 108));
  BOOST_TEST(!size_of_header(UINT64_MAX, 108));
  BOOST_TEST(!size_of_header(UINT64_MAX - 7, UINT64_MAX));
  BOOST_TEST(!size_of_header(most_header_bytes + 1, UINT64_MAX));
  BOOST_TEST(!tensor_header_bytes({}, 0));
}

BOOST_AUTO_TEST_CASE(no_damage_to_a_header_gives_places_outside_of_the_file) {
  const std::string good =
      make_tensor_header(three, {{"format", "pt"}}).value() + std::string(data_size, 'x');
  std::mt19937 random(1);
  for (int round = 0; round < 20000; ++round) {
    std::string file = good;
    const int changes = 1 + static_cast<int>(random() % 4);
    for (int i = 0; i < changes; ++i) file[random() % file.size()] = static_cast<char>(random());
    if (random() % 4 == 0) file.resize(random() % (file.size() + 1));
    const auto places = read(file);
    if (!places) continue;
    for (const TensorPlace& place : *places) {
      BOOST_REQUIRE(place.begin <= place.end);
      BOOST_REQUIRE(place.end <= file.size());
      BOOST_REQUIRE(place.end - place.begin == byte_size(place.info).value());
    }
  }
}

BOOST_AUTO_TEST_CASE(names_that_would_not_be_read_again_are_not_written) {
  for (const std::string name : {"", "a b", "a\"b", "a\\b", "a\nb", "__metadata__", "\xc3\xa9"}) {
    BOOST_TEST(!make_tensor_header(std::vector<TensorInfo>{{name, Dtype::f32, {1}}}, {}), name);
  }
  BOOST_TEST(!make_tensor_header({}, {{"a", "b c"}}));
}

}  // namespace
}  // namespace troupe::easyscale
