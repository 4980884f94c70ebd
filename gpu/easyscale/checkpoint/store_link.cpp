// SPDX-License-Identifier: Apache-2.0
#include "gpu/easyscale/checkpoint/store_link.hpp"

#include "actors/base/atomic_file.hpp"
#include "actors/base/fd.hpp"
#include "actors/net/crypto.hpp"
#include "gpu/easyscale/checkpoint/manifest_link.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <optional>

namespace troupe::easyscale {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t piece_bytes = 1U << 20U;

Failure damaged(const fs::path& file, const std::string& what) {
  return fail(ErrorCode::corrupt, file.string() + ": " + what);
}

std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// A tensor of the state with its bytes: within the state, or, for the frame, collected from it.
struct Part {
  StateTensor tensor;
  std::span<const std::byte> bytes;
};

struct Parts {
  std::vector<Part> parts;
  std::vector<std::byte> frame;
};

Result<Parts> split(const StateLayout& layout, std::span<const std::byte> state) {
  const auto gaps = gaps_of(layout.tensors, state.size());
  if (!gaps) return Failure(gaps.error());
  Parts out;
  for (const StateTensor& tensor : layout.tensors) {
    const auto size = byte_size(tensor.info);
    if (!size) return Failure(size.error());
    out.parts.push_back({tensor, state.subspan(tensor.offset, *size)});
  }
  for (const Range& gap : *gaps) {
    const auto bytes = state.subspan(gap.begin, gap.end - gap.begin);
    out.frame.insert(out.frame.end(), bytes.begin(), bytes.end());
  }
  const StateTensor frame{{frame_tensor, Dtype::u8, {out.frame.size()}}, 0};
  out.parts.push_back({frame, out.frame});
  return out;
}

TensorHash hash_of(std::span<const std::byte> bytes) {
  Sha256 sha256;
  sha256.update(bytes);
  return sha256.digest();
}

// Larger elements first, so that all are aligned in the file.
Result<FileRecord> write_shard(const fs::path& folder, const std::string& name,
                               std::vector<const Part*> parts, std::uint64_t step) {
  std::stable_sort(parts.begin(), parts.end(), [](const Part* a, const Part* b) {
    return size_of(a->tensor.info.dtype) > size_of(b->tensor.info.dtype);
  });
  std::vector<TensorInfo> infos;
  for (const Part* part : parts) infos.push_back(part->tensor.info);
  const auto header = make_tensor_header(infos, {{"format", "pt"}, {"step", std::to_string(step)}});
  if (!header) return Failure(header.error());
  std::vector<std::string_view> pieces = {*header};
  FileRecord record{name, header->size()};
  for (const Part* part : parts) {
    pieces.push_back(text_of(part->bytes));
    record.size += part->bytes.size();
  }
  if (auto ok = write_file_atomically(folder / name, pieces); !ok) return Failure(ok.error());
  return record;
}

Result<Manifest> fill_folder(const fs::path& folder, Manifest manifest, const Parts& parts,
                             std::uint64_t shard_bytes) {
  std::vector<std::uint64_t> sizes;
  for (const Part& part : parts.parts) sizes.push_back(part.bytes.size());
  const auto plan = plan_shards(sizes, shard_bytes);
  const std::uint32_t count = plan.back() + 1;
  std::vector<std::vector<const Part*>> shards(count);
  manifest.tensors.clear();
  for (std::size_t i = 0; i < parts.parts.size(); ++i) {
    const Part& part = parts.parts[i];
    shards[plan[i]].push_back(&part);
    manifest.tensors.push_back(
        {part.tensor.info, part.tensor.offset, plan[i], hash_of(part.bytes)});
  }
  manifest.files.clear();
  for (std::uint32_t i = 0; i < count; ++i) {
    auto file = write_shard(folder, shard_name(i, count), std::move(shards[i]), manifest.step);
    if (!file) return Failure(file.error());
    manifest.files.push_back(std::move(*file));
  }
  if (auto ok = check(manifest); !ok) return Failure(ok.error());
  if (auto ok = write_file_atomically(folder / manifest_name, encode(manifest)); !ok) {
    return Failure(ok.error());
  }
  return manifest;
}

Result<Fd> open_file(const fs::path& path) {
  Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (fd) return fd;
  return fail(errno == ENOENT ? ErrorCode::not_found : ErrorCode::unavailable,
              path.string() + ": " + errno_text(errno));
}

Result<std::uint64_t> size_of_file(int fd, const fs::path& path) {
  struct stat about {};
  if (::fstat(fd, &about) != 0 || !S_ISREG(about.st_mode)) return damaged(path, "it is no file");
  return static_cast<std::uint64_t>(about.st_size);
}

Result<void> read_at(int fd, std::span<std::byte> into, std::uint64_t offset,
                     const fs::path& path) {
  while (!into.empty()) {
    const auto got = ::pread(fd, into.data(), into.size(), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      return fail(ErrorCode::unavailable, path.string() + ": cannot read: " + errno_text(errno));
    }
    if (got == 0) return damaged(path, "it is cut short");
    into = into.subspan(static_cast<std::size_t>(got));
    offset += static_cast<std::uint64_t>(got);
  }
  return {};
}

// A file of tensors that is as its manifest says; reads of it are checked to be within.
class Shard {
 public:
  static Result<Shard> open(const fs::path& folder, const Manifest& manifest,
                            std::uint32_t number) {
    const FileRecord& record = manifest.files.at(number);
    Shard shard;
    shard.path_ = folder / record.name;
    auto fd = open_file(shard.path_);
    if (!fd) return Failure(fd.error());
    shard.fd_ = std::move(*fd);
    const auto size = size_of_file(shard.fd_.get(), shard.path_);
    if (!size) return Failure(size.error());
    if (*size != record.size) {
      return damaged(shard.path_, "it has " + std::to_string(*size) +
                                      " bytes, and the manifest says " +
                                      std::to_string(record.size));
    }
    if (auto ok = shard.read_header(*size); !ok) return Failure(ok.error());
    if (auto ok = shard.compare(manifest, number); !ok) return Failure(ok.error());
    return shard;
  }

  /// Reads a tensor and compares its hash.
  Result<void> read(const TensorRecord& tensor, const TakeBytes& take) const {
    const TensorPlace& place = places_.at(tensor.info.name);
    Sha256 sha256;
    std::vector<std::byte> piece(piece_bytes);
    for (std::uint64_t at = place.begin; at < place.end; at += piece.size()) {
      piece.resize(std::min<std::uint64_t>(piece_bytes, place.end - at));
      if (auto ok = read_at(fd_.get(), piece, at, path_); !ok) {
        return fail(ok.error().code, ok.error().what + " (tensor " + tensor.info.name + ")");
      }
      sha256.update(piece);
      take(piece);
    }
    if (sha256.digest() == tensor.sha256) return {};
    return damaged(path_, "tensor " + tensor.info.name +
                              " is not the one that was written: its hash is another");
  }

 private:
  Result<void> read_header(std::uint64_t size) {
    std::vector<std::byte> start(std::min<std::uint64_t>(size, 8));
    if (auto ok = read_at(fd_.get(), start, 0, path_); !ok) return ok;
    const auto header = tensor_header_bytes(start, size);
    if (!header) return fail_at(path_.string(), header.error());
    start.resize(*header);
    if (auto ok = read_at(fd_.get(), start, 0, path_); !ok) return ok;
    auto places = read_tensor_header(start, size);
    if (!places) return fail_at(path_.string(), places.error());
    for (TensorPlace& place : *places) {
      std::string name = place.info.name;
      places_.emplace(std::move(name), std::move(place));
    }
    return {};
  }

  Result<void> compare(const Manifest& manifest, std::uint32_t number) const {
    std::size_t expected = 0;
    for (const TensorRecord& tensor : manifest.tensors) {
      if (tensor.file != number) continue;
      ++expected;
      const auto at = places_.find(tensor.info.name);
      if (at == places_.end()) return damaged(path_, "it lacks tensor " + tensor.info.name);
      if (at->second.info != tensor.info) {
        return damaged(path_, "tensor " + tensor.info.name +
                                  " has another type or shape than the "
                                  "manifest says");
      }
    }
    if (expected == places_.size()) return {};
    return damaged(path_, "it has tensors that the manifest does not know");
  }

  Fd fd_;
  fs::path path_;
  std::map<std::string, TensorPlace> places_;
};

// Calls `each` for every tensor in the manifest's order, with the file that it is in.
template <class Each>
Result<void> for_tensors(const fs::path& folder, const Manifest& manifest, const Each& each) {
  std::optional<std::pair<std::uint32_t, Shard>> open;
  for (const TensorRecord& tensor : manifest.tensors) {
    if (!open || open->first != tensor.file) {
      auto shard = Shard::open(folder, manifest, tensor.file);
      if (!shard) {
        return fail(shard.error().code,
                    shard.error().what + " (first needed for tensor " + tensor.info.name + ")");
      }
      open.emplace(tensor.file, std::move(*shard));
    }
    if (auto ok = each(open->second, tensor); !ok) return ok;
  }
  return {};
}

}  // namespace

Result<std::vector<HashedTensor>> hash_tensors(const StateLayout& layout,
                                               std::span<const std::byte> state) {
  const auto parts = split(layout, state);
  if (!parts) return Failure(parts.error());
  std::vector<HashedTensor> out;
  for (const Part& part : parts->parts) out.push_back({part.tensor.info.name, hash_of(part.bytes)});
  return out;
}

Result<Manifest> write_checkpoint(const fs::path& folder, Manifest about, const StateLayout& layout,
                                  std::span<const std::byte> state, std::uint64_t shard_bytes) {
  const auto parts = split(layout, state);
  if (!parts) return Failure(parts.error());
  if (::mkdir(folder.c_str(), 0700) != 0) {
    return fail(errno == ENOSPC ? ErrorCode::resource_exhausted : ErrorCode::unavailable,
                folder.string() + ": cannot make it: " + errno_text(errno));
  }
  about.block_size = state.size();
  about.optimizer = layout.optimizer;
  auto written = fill_folder(folder, std::move(about), *parts, shard_bytes);
  if (!written) remove_checkpoint(folder);
  return written;
}

Result<Manifest> open_checkpoint(const fs::path& folder) {
  const fs::path path = folder / manifest_name;
  const auto fd = open_file(path);
  if (!fd) {
    if (fd.error().code != ErrorCode::not_found) return Failure(fd.error());
    return fail(ErrorCode::not_found, folder.string() + ": there is no checkpoint (no manifest)");
  }
  if (auto size = size_of_file(fd->get(), path); !size) return Failure(size.error());
  const auto bytes = read_all(fd->get(), most_manifest_bytes);
  if (!bytes) return fail_at(path.string(), bytes.error());
  auto manifest = decode_manifest(std::as_bytes(std::span(*bytes)));
  if (!manifest) return fail_at(path.string(), manifest.error());
  for (const FileRecord& file : manifest->files) {
    const auto shard = open_file(folder / file.name);
    if (!shard) return Failure(shard.error());
    const auto size = size_of_file(shard->get(), folder / file.name);
    if (!size) return Failure(size.error());
    if (*size != file.size) {
      return damaged(folder / file.name, "it has " + std::to_string(*size) +
                                             " bytes, and the manifest says " +
                                             std::to_string(file.size));
    }
  }
  return manifest;
}

Result<void> read_tensor(const fs::path& folder, const Manifest& manifest,
                         const TensorRecord& tensor, const TakeBytes& take) {
  const auto shard = Shard::open(folder, manifest, tensor.file);
  if (!shard) return Failure(shard.error());
  return shard->read(tensor, take);
}

Result<void> verify_checkpoint(const fs::path& folder, const Manifest& manifest) {
  return for_tensors(folder, manifest, [](const Shard& shard, const TensorRecord& tensor) {
    return shard.read(tensor, [](std::span<const std::byte>) {});
  });
}

Result<std::vector<std::byte>> load_checkpoint(const fs::path& folder, const Manifest& manifest) {
  std::uint64_t on_disk = 0;
  for (const FileRecord& file : manifest.files) on_disk += file.size;
  if (manifest.block_size > on_disk) return damaged(folder, "the state is larger than its files");
  std::vector<StateTensor> placed;
  for (const TensorRecord& tensor : manifest.tensors) {
    if (tensor.info.name != frame_tensor) placed.push_back({tensor.info, tensor.offset});
  }
  const auto gaps = gaps_of(placed, manifest.block_size);
  if (!gaps) return Failure(gaps.error());
  std::vector<std::byte> state(manifest.block_size);
  std::vector<std::byte> frame;
  const auto read = for_tensors(folder, manifest, [&](const Shard& shard, const auto& tensor) {
    const bool is_frame = tensor.info.name == frame_tensor;
    std::uint64_t at = tensor.offset;
    return shard.read(tensor, [&](std::span<const std::byte> bytes) {
      if (is_frame) {
        frame.insert(frame.end(), bytes.begin(), bytes.end());
      } else {
        std::memcpy(state.data() + at, bytes.data(), bytes.size());
        at += bytes.size();
      }
    });
  });
  if (!read) return Failure(read.error());
  auto rest = std::span<const std::byte>(frame);
  for (const Range& gap : *gaps) {
    const std::size_t size = gap.end - gap.begin;
    std::memcpy(state.data() + gap.begin, rest.data(), size);
    rest = rest.subspan(size);
  }
  return state;
}

Result<void> remove_checkpoint(const fs::path& folder) {
  std::error_code error;
  fs::remove(folder / manifest_name, error);
  if (const Fd fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)); fd) {
    ::fsync(fd.get());  // the manifest goes before the tensors do
  }
  if (!error) fs::remove_all(folder, error);
  if (!error) return {};
  return fail(ErrorCode::unavailable, folder.string() + ": cannot remove it: " + error.message());
}

}  // namespace troupe::easyscale
