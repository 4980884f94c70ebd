// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gpu/easyscale/checkpoint/manifest.hpp"
#include "gpu/easyscale/checkpoint/store_link.hpp"
#include "tests/support/why.hpp"

#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

namespace troupe::easyscale::test {

/// A saved state with tensors of several types and bookkeeping between them.
struct State {
  std::vector<std::byte> bytes;
  StateLayout layout;
};

inline State make_state(std::uint64_t step, std::uint64_t rows = 30) {
  State out;
  out.layout.optimizer = "adam";
  const std::vector<TensorInfo> infos = {{"conv.weight", Dtype::f32, {rows, 20}},
                                         {"norm.count", Dtype::i64, {}},
                                         {"empty", Dtype::f32, {0, 3}},
                                         {"optimizer.conv.weight.exp_avg", Dtype::f32, {rows, 20}},
                                         {"flags", Dtype::boolean, {7}}};
  std::uint64_t number = step * 7919 + 1;
  const auto append = [&](std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i) {
      number = number * 6364136223846793005ULL + 1442695040888963407ULL;
      out.bytes.push_back(static_cast<std::byte>(number >> 56U));
    }
  };
  append(36);
  for (const TensorInfo& info : infos) {
    out.layout.tensors.push_back({info, out.bytes.size()});
    append(byte_size(info).value());
    append(info.name.size() % 3);
  }
  append(5);
  return out;
}

inline Manifest about(std::uint64_t step) {
  Manifest about;
  about.identity = {"digits", "trainers", "digits", 7, 2, 8, ""};
  about.step = step;
  about.steps_per_epoch = 22;
  about.steps = 44;
  about.fingerprint = "torch 1";
  about.version = "0.1.0";
  about.rank_records = {{0, 11}, {1, 12}};
  return about;
}

inline Manifest write_one(const std::filesystem::path& folder, std::uint64_t step,
                          std::uint64_t shard_bytes = 1U << 20U) {
  const State state = make_state(step);
  auto written = write_checkpoint(folder, about(step), state.layout, state.bytes, shard_bytes);
  BOOST_REQUIRE_MESSAGE(written, troupe::test::why(written));
  return *written;
}

inline std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline void write_file(const std::filesystem::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

inline bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace troupe::easyscale::test
