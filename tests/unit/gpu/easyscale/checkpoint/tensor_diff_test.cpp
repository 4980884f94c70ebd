// SPDX-License-Identifier: Apache-2.0
#include "gpu/easyscale/checkpoint/tensor_diff.hpp"

#include "tests/unit/gpu/easyscale/checkpoint/states.hpp"

#include <cmath>
#include <limits>

namespace troupe::easyscale {
namespace {

template <class T>
TensorDiff diff(Dtype dtype, const std::vector<T>& a, const std::vector<T>& b) {
  TensorDiff out(dtype);
  const auto left = std::as_bytes(std::span(a));
  const auto right = std::as_bytes(std::span(b));
  out.add(left.first(sizeof(T)), right.first(sizeof(T)));  // piece by piece
  out.add(left.subspan(sizeof(T)), right.subspan(sizeof(T)));
  return out;
}

BOOST_AUTO_TEST_CASE(the_first_and_the_largest_difference_are_found) {
  const auto found = diff<float>(Dtype::f32, {1, 2, 3, 4, 5}, {1, 2.5, 3, 1, 5});
  BOOST_TEST(found.differing() == 2U);
  BOOST_TEST(found.first()->element == 1U);
  BOOST_TEST(found.first()->b == 2.5);
  BOOST_TEST(found.largest()->element == 3U);
  BOOST_TEST(!diff<float>(Dtype::f32, {1, 2}, {1, 2}).first().has_value());
}

BOOST_AUTO_TEST_CASE(bits_count_not_values) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  BOOST_TEST(diff<float>(Dtype::f32, {0, 1}, {-0.0F, 1}).differing() == 1U);
  BOOST_TEST(diff<float>(Dtype::f32, {nan, 1}, {nan, 1}).differing() == 0U);
  const auto found = diff<float>(Dtype::f32, {0, 1, 1}, {0, nan, 100});
  BOOST_TEST(found.largest()->element == 1U);
}

BOOST_AUTO_TEST_CASE(elements_of_all_types_have_their_value) {
  const auto value = [](Dtype dtype, auto number) {
    return number_of(dtype, std::as_bytes(std::span(&number, 1)).data());
  };
  BOOST_TEST(value(Dtype::f64, 0.1) == 0.1);
  BOOST_TEST(value(Dtype::i64, std::int64_t{-5}) == -5);
  BOOST_TEST(value(Dtype::u8, std::uint8_t{200}) == 200);
  BOOST_TEST(value(Dtype::i8, std::int8_t{-2}) == -2);
  BOOST_TEST(value(Dtype::bf16, std::uint16_t{0x3fc0}) == 1.5);
  BOOST_TEST(value(Dtype::f16, std::uint16_t{0x3e00}) == 1.5);
  BOOST_TEST(value(Dtype::f16, std::uint16_t{0xc000}) == -2);
  BOOST_TEST(value(Dtype::f16, std::uint16_t{0x0001}) == std::ldexp(1.0, -24));
  BOOST_TEST(value(Dtype::f16, std::uint16_t{0x7bff}) == 65504);
  BOOST_TEST(std::isinf(value(Dtype::f16, std::uint16_t{0xfc00})));
  BOOST_TEST(std::isnan(value(Dtype::f16, std::uint16_t{0x7c01})));
}

BOOST_AUTO_TEST_CASE(an_element_is_called_by_its_indices) {
  BOOST_TEST(index_text(1234, {10, 16, 10}) == "[7, 11, 4]");
  BOOST_TEST(index_text(3, {5}) == "[3]");
  BOOST_TEST(index_text(0, {}) == "[]");
}

}  // namespace
}  // namespace troupe::easyscale
