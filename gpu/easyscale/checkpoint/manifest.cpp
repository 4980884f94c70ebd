// SPDX-License-Identifier: Apache-2.0
#include "gpu/easyscale/checkpoint/manifest.hpp"

#include <algorithm>
#include <cstdio>
#include <set>

namespace troupe::easyscale {
namespace {

constexpr std::size_t most_files = 10'000;
constexpr std::size_t most_ranks = 1U << 20U;

Failure damaged(const std::string& what) { return fail(ErrorCode::corrupt, "manifest: " + what); }

// One that stays in its folder.
bool is_file_name(const std::string& name) {
  return !name.empty() && name.size() <= 255 && name.front() != '.' &&
         std::all_of(name.begin(), name.end(), [](unsigned char c) {
           return std::isalnum(c) != 0 || c == '.' || c == '_' || c == '-';
         });
}

Result<void> check_files(const Manifest& manifest) {
  if (manifest.files.empty() || manifest.files.size() > most_files) {
    return damaged("it lists " + std::to_string(manifest.files.size()) + " files");
  }
  std::set<std::string> names;
  for (const FileRecord& file : manifest.files) {
    if (!is_file_name(file.name)) return damaged("\"" + file.name + "\" is no name of a file");
    if (!names.insert(file.name).second) return damaged(file.name + " is there twice");
  }
  return {};
}

Result<void> check_tensors(const Manifest& manifest) {
  if (manifest.tensors.size() > most_tensors) return damaged("it lists too many tensors");
  std::set<std::string> names;
  std::vector<StateTensor> placed;
  std::uint64_t frame = 0;
  for (const TensorRecord& tensor : manifest.tensors) {
    const std::string& name = tensor.info.name;
    if (!is_tensor_name(name)) return damaged("\"" + name + "\" is no name of a tensor");
    if (!names.insert(name).second) return damaged("tensor " + name + " is there twice");
    if (tensor.file >= manifest.files.size()) {
      return damaged("tensor " + name + " is in a file that is not listed");
    }
    const auto size = byte_size(tensor.info);
    if (!size) return Failure(size.error());
    if (name == frame_tensor) {
      frame = *size;
    } else {
      placed.push_back({tensor.info, tensor.offset});
    }
  }
  const auto gaps = gaps_of(placed, manifest.block_size);
  if (!gaps) return Failure(gaps.error());
  std::uint64_t between = 0;
  for (const Range& gap : *gaps) between += gap.end - gap.begin;
  if (between != frame) return damaged("the tensors do not make up the whole state");
  return {};
}

}  // namespace

const TensorRecord* Manifest::find(const std::string& name) const {
  const auto at = std::find_if(tensors.begin(), tensors.end(), [&](const TensorRecord& tensor) {
    return tensor.info.name == name;
  });
  return at == tensors.end() ? nullptr : &*at;
}

Result<void> check(const Manifest& manifest) {
  if (auto ok = check_files(manifest); !ok) return ok;
  if (manifest.rank_records.size() > most_ranks ||
      manifest.rank_records.size() != manifest.identity.ranks) {
    return damaged("it has " + std::to_string(manifest.rank_records.size()) + " ranks, not " +
                   std::to_string(manifest.identity.ranks));
  }
  return check_tensors(manifest);
}

Result<void> check_same_job(const JobIdentity& job, const JobIdentity& checkpoint) {
  const auto differ = [](const std::string& what, const std::string& there,
                         const std::string& here) {
    return fail(ErrorCode::invalid_argument, "it is of another job: " + what + " " + there +
                                                 " there, " + here + " in this graph");
  };
  if (job.job != checkpoint.job) return differ("name", checkpoint.job, job.job);
  if (job.program != checkpoint.program) {
    return differ("program", checkpoint.program, job.program);
  }
  if (job.settings != checkpoint.settings) {
    return differ("settings", "(" + checkpoint.settings + ")", "(" + job.settings + ")");
  }
  const auto numbers = {
      std::tuple("seed", checkpoint.seed, job.seed),
      std::tuple("ranks", std::uint64_t{checkpoint.ranks}, std::uint64_t{job.ranks}),
      std::tuple("batch", std::uint64_t{checkpoint.batch}, std::uint64_t{job.batch})};
  for (const auto& [what, there, here] : numbers) {
    if (there != here) return differ(what, std::to_string(there), std::to_string(here));
  }
  return {};
}

Result<std::vector<Range>> gaps_of(const std::vector<StateTensor>& tensors,
                                   std::uint64_t block_size) {
  std::vector<Range> taken;
  for (const StateTensor& tensor : tensors) {
    const auto size = byte_size(tensor.info);
    if (!size) return Failure(size.error());
    if (tensor.offset > block_size || *size > block_size - tensor.offset) {
      return fail(ErrorCode::corrupt, "tensor " + tensor.info.name + " lies outside of the state");
    }
    if (*size > 0) taken.push_back({tensor.offset, tensor.offset + *size});
  }
  std::sort(taken.begin(), taken.end(),
            [](const Range& a, const Range& b) { return a.begin < b.begin; });
  std::vector<Range> gaps;
  std::uint64_t reached = 0;
  for (const Range& range : taken) {
    if (range.begin < reached) return fail(ErrorCode::corrupt, "tensors of the state overlap");
    if (range.begin > reached) gaps.push_back({reached, range.begin});
    reached = range.end;
  }
  if (reached < block_size) gaps.push_back({reached, block_size});
  return gaps;
}

std::vector<std::uint32_t> plan_shards(std::span<const std::uint64_t> sizes,
                                       std::uint64_t shard_bytes) {
  std::vector<std::uint32_t> plan;
  std::uint32_t file = 0;
  std::uint64_t filled = 0;
  for (const std::uint64_t size : sizes) {
    if (filled > 0 && (size > shard_bytes || filled > shard_bytes - size)) {
      ++file;
      filled = 0;
    }
    plan.push_back(file);
    filled += size;
  }
  return plan;
}

std::string shard_name(std::uint32_t number, std::uint32_t count) {
  char name[64];
  std::snprintf(name, sizeof(name), "tensors-%05u-of-%05u.safetensors", number, count);
  return name;
}

}  // namespace troupe::easyscale
