// SPDX-License-Identifier: Apache-2.0
// Squares are added in double precision: eight lanes over blocks of 4096 numbers, the lanes of a
// block pairwise, then the blocks as a binary tree (by a stack of equal heights, like a binary
// counter). The compiler keeps this order: it may neither reassociate nor, without a target that
// has it, fuse the multiplication with the addition.
#include "gpu/easyscale/engine/gradient_norm.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <vector>

namespace troupe::easyscale {
namespace {

constexpr std::size_t block = 4096;
constexpr std::size_t lanes = 8;

double squares(std::span<const float> numbers) {
  std::array<double, lanes> sum{};
  std::size_t i = 0;
  for (; i + lanes <= numbers.size(); i += lanes) {
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      const double value = numbers[i + lane];
      sum[lane] += value * value;
    }
  }
  for (std::size_t lane = 0; i < numbers.size(); ++i, ++lane) {
    const double value = numbers[i];
    sum[lane] += value * value;
  }
  return ((sum[0] + sum[1]) + (sum[2] + sum[3])) + ((sum[4] + sum[5]) + (sum[6] + sum[7]));
}

}  // namespace

double gradient_norm(std::span<const float> gradient) {
  std::vector<double> stack;
  for (std::size_t count = 1; !gradient.empty(); ++count) {
    const auto part = gradient.first(std::min(block, gradient.size()));
    gradient = gradient.subspan(part.size());
    stack.push_back(squares(part));
    for (std::size_t done = count; done % 2 == 0; done /= 2) {
      const double right = stack.back();
      stack.pop_back();
      stack.back() += right;
    }
  }
  double sum = 0;
  for (; !stack.empty(); stack.pop_back()) sum += stack.back();
  return std::sqrt(sum);
}

float clip_factor(double norm, double most) {
  if (most <= 0 || norm <= most) return 1.0F;
  return static_cast<float>(most / norm);
}

}  // namespace troupe::easyscale
