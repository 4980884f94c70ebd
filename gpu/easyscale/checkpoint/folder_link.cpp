// SPDX-License-Identifier: Apache-2.0
#include "gpu/easyscale/checkpoint/folder_link.hpp"

#include "gpu/easyscale/checkpoint/store_link.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <string_view>
#include <thread>
#include <utility>

namespace troupe::easyscale {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view prefix = "step-";

template <class Number>
std::optional<Number> number_in(std::string_view text) {
  Number number = 0;
  const auto* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, number);
  if (text.empty() || error != std::errc() || at != end) return std::nullopt;
  return number;
}

// "step-000000000040.1" -> 40, 1
std::optional<std::pair<std::uint64_t, std::uint32_t>> step_of(const std::string& name) {
  if (name.rfind(prefix, 0) != 0) return std::nullopt;
  const auto rest = std::string_view(name).substr(prefix.size());
  const auto dot = rest.find('.');
  const auto step = number_in<std::uint64_t>(rest.substr(0, dot));
  const auto copy = dot == std::string_view::npos ? std::optional<std::uint32_t>(0)
                                                  : number_in<std::uint32_t>(rest.substr(dot + 1));
  if (!step || !copy) return std::nullopt;
  return std::pair(*step, *copy);
}

std::string name_of(std::uint64_t step, std::uint32_t copy) {
  char name[48];
  std::snprintf(name, sizeof(name), "step-%012llu", static_cast<unsigned long long>(step));
  return copy == 0 ? std::string(name) : name + ("." + std::to_string(copy));
}

// Sees whether one is good all through, for this job.
Result<void> examine(const ListedCheckpoint& one, const JobIdentity* job) {
  if (!one.manifest) return Failure(one.why);
  if (job != nullptr) {
    if (auto ok = check_same_job(*job, one.manifest->identity); !ok) {
      return fail_at(one.folder.string(), ok.error());
    }
  }
  return verify_checkpoint(one.folder, *one.manifest);
}

// Whether a writer that was killed has left this: a folder as we call it, without a manifest, and
// with nothing in it that we do not write.
bool is_left_over(const ListedCheckpoint& one) {
  if (one.folder.filename() != name_of(one.step, one.copy)) return false;
  std::error_code error;
  fs::directory_iterator entries(one.folder, error);
  for (; !error && entries != fs::directory_iterator(); entries.increment(error)) {
    const std::string name = entries->path().filename();
    const bool ours =
        name.rfind("tensors-", 0) == 0 || name.rfind(std::string(manifest_name) + ".tmp.", 0) == 0;
    if (!ours || !entries->is_regular_file(error)) return false;
  }
  return !error;
}

ListedCheckpoint look_at(const fs::path& folder, std::uint64_t step, std::uint32_t copy) {
  ListedCheckpoint one{folder, step, copy, std::nullopt, {}};
  auto manifest = open_checkpoint(folder);
  if (manifest) {
    one.step = manifest->step;
    one.manifest = std::move(*manifest);
  } else {
    one.why = manifest.error();
  }
  return one;
}

}  // namespace

Result<std::vector<ListedCheckpoint>> list_checkpoints(const fs::path& folder) {
  std::vector<ListedCheckpoint> found;
  std::error_code error;
  fs::directory_iterator entries(folder, error);
  if (error == std::errc::no_such_file_or_directory) return found;
  for (; !error && entries != fs::directory_iterator(); entries.increment(error)) {
    const auto step = step_of(entries->path().filename());
    std::error_code ignored;
    if (!step || !fs::is_directory(entries->symlink_status(ignored))) continue;
    found.push_back(look_at(entries->path(), step->first, step->second));
  }
  if (error) return fail(ErrorCode::unavailable, folder.string() + ": " + error.message());
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) {
    return std::pair(a.step, a.copy) < std::pair(b.step, b.copy);
  });
  return found;
}

Result<FoundCheckpoint> latest_checkpoint(const fs::path& folder, const JobIdentity* job) {
  std::vector<ListedCheckpoint> all;
  std::error_code ignored;
  if (fs::exists(folder / manifest_name, ignored)) {
    all.push_back(look_at(folder, 0, 0));
  } else {
    auto listed = list_checkpoints(folder);
    if (!listed) return Failure(listed.error());
    all = std::move(*listed);
  }
  std::vector<Error> refused;
  std::string reasons;
  for (auto one = all.rbegin(); one != all.rend(); ++one) {
    const auto good = examine(*one, job);
    if (good) return FoundCheckpoint{one->folder, std::move(*one->manifest), std::move(refused)};
    refused.push_back(good.error());
    reasons += "\n  " + good.error().what;
  }
  return fail(ErrorCode::not_found, folder.string() + ": there is no checkpoint to go on from" +
                                        (reasons.empty() ? "" : ":" + reasons));
}

Result<CheckpointFolder> CheckpointFolder::lock(const fs::path& folder,
                                                std::chrono::milliseconds patience) {
  std::error_code error;
  fs::create_directories(folder, error);
  const fs::path path = folder / "lock";
  Fd fd(error ? -1 : ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd) {
    const int why = error ? error.value() : errno;
    return fail(why == ENOSPC ? ErrorCode::resource_exhausted : ErrorCode::unavailable,
                (error ? folder : path).string() + ": cannot make it: " + errno_text(why));
  }
  const auto until = std::chrono::steady_clock::now() + patience;
  while (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {  // it cannot be waited for with a limit
    if (std::chrono::steady_clock::now() >= until) {
      return fail(ErrorCode::unavailable,
                  folder.string() + ": another process is writing checkpoints there");
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return CheckpointFolder(folder, std::move(fd));
}

Result<std::optional<fs::path>> CheckpointFolder::place_for(
    std::uint64_t step, const std::function<bool(const Manifest&)>& is_it) {
  const auto listed = list_checkpoints(folder_);
  if (!listed) return Failure(listed.error());
  std::uint32_t copy = 0;
  for (const ListedCheckpoint& one : *listed) {
    if (!one.manifest && is_left_over(one)) {
      if (auto gone = remove_checkpoint(one.folder); !gone) return Failure(gone.error());
    } else if (one.step == step) {
      if (one.manifest && is_it(*one.manifest) && examine(one, nullptr)) return std::nullopt;
    }
  }
  std::error_code ignored;
  while (fs::exists(folder_ / name_of(step, copy), ignored)) ++copy;
  return folder_ / name_of(step, copy);
}

Result<void> CheckpointFolder::retain(std::uint32_t keep, std::uint64_t step) {
  const auto listed = list_checkpoints(folder_);
  if (!listed) return Failure(listed.error());
  std::uint32_t kept = 0;
  for (auto one = listed->rbegin(); one != listed->rend(); ++one) {
    if (!one->manifest || one->step > step) continue;
    if (kept++ < std::max<std::uint32_t>(keep, 1)) continue;
    if (auto gone = remove_checkpoint(one->folder); !gone) return gone;
  }
  return {};
}

}  // namespace troupe::easyscale
