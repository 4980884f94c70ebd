// SPDX-License-Identifier: Apache-2.0
#include "gpu/easyscale/checkpoint/tensor_diff.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace troupe::easyscale {
namespace {

template <class T>
double as(const std::byte* element) {
  T value;
  std::memcpy(&value, element, sizeof(T));
  return static_cast<double>(value);
}

std::uint16_t half_bits(const std::byte* element) {
  std::uint16_t bits = 0;
  std::memcpy(&bits, element, sizeof(bits));
  return bits;
}

// Sign, 5 bits of exponent, 10 of fraction.
double f16(const std::byte* element) {
  const unsigned bits = half_bits(element);
  const int exponent = static_cast<int>(bits >> 10U & 31U);
  const double fraction = bits & 1023U;
  const double sign = (bits >> 15U) != 0 ? -1.0 : 1.0;
  if (exponent == 31) {
    return fraction == 0 ? sign * std::numeric_limits<double>::infinity()
                         : std::numeric_limits<double>::quiet_NaN();
  }
  if (exponent == 0) return sign * std::ldexp(fraction, -24);
  return sign * std::ldexp(1024 + fraction, exponent - 25);
}

double bf16(const std::byte* element) {
  return std::bit_cast<float>(std::uint32_t{half_bits(element)} << 16U);
}

double distance(const ElementDifference& one) {
  const double size = std::abs(one.a - one.b);
  return std::isnan(size) ? std::numeric_limits<double>::infinity() : size;
}

}  // namespace

double number_of(Dtype dtype, const std::byte* element) {
  switch (dtype) {
    case Dtype::boolean:
    case Dtype::u8:
      return as<std::uint8_t>(element);
    case Dtype::i8:
      return as<std::int8_t>(element);
    case Dtype::i16:
      return as<std::int16_t>(element);
    case Dtype::u16:
      return as<std::uint16_t>(element);
    case Dtype::f16:
      return f16(element);
    case Dtype::bf16:
      return bf16(element);
    case Dtype::i32:
      return as<std::int32_t>(element);
    case Dtype::u32:
      return as<std::uint32_t>(element);
    case Dtype::f32:
      return as<float>(element);
    case Dtype::i64:
      return as<std::int64_t>(element);
    case Dtype::u64:
      return as<std::uint64_t>(element);
    case Dtype::f64:
      return as<double>(element);
  }
  return 0;
}

void TensorDiff::add(std::span<const std::byte> a, std::span<const std::byte> b) {
  const std::size_t size = size_of(dtype_);
  const std::size_t count = std::min(a.size(), b.size()) / size;
  if (std::memcmp(a.data(), b.data(), count * size) == 0) {
    element_ += count;
    return;
  }
  for (std::size_t i = 0; i < count; ++i, ++element_) {
    const std::byte* left = a.data() + i * size;
    const std::byte* right = b.data() + i * size;
    if (std::memcmp(left, right, size) == 0) continue;
    ++differing_;
    const ElementDifference one{element_, number_of(dtype_, left), number_of(dtype_, right)};
    if (!first_) first_ = one;
    if (!largest_ || distance(one) > distance(*largest_)) largest_ = one;
  }
}

std::string index_text(std::uint64_t element, const std::vector<std::uint64_t>& shape) {
  std::string text;
  for (auto length = shape.rbegin(); length != shape.rend(); ++length) {
    if (*length == 0) return "[]";
    const auto here = std::to_string(element % *length);
    text = text.empty() ? here : here + ", " + text;
    element /= *length;
  }
  return "[" + text + "]";
}

}  // namespace troupe::easyscale
