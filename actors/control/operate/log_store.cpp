// SPDX-License-Identifier: Apache-2.0
//
// A log is appended to in the order of time, so the first line since a time is found by halving the
// file. Lines without a time (what a library printed) count as part of the line before them.
#include "actors/control/operate/log_store.hpp"

#include "actors/base/fd.hpp"
#include "actors/base/logfmt.hpp"
#include "actors/control/operate/actor_table.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <optional>

namespace troupe {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t most_jobs = 100;
constexpr std::size_t chunk = 64 << 10;

bool is_run(const std::string& name) {
  return !name.empty() && name.size() <= 64 && name.find_first_not_of("0123456789-") == name.npos;
}

std::string path_of(const std::string& target) {
  return target.substr(0, 1) == "/" ? target : "/jobs/" + target;
}

/// The inverse of log_file_of(); empty where a file is none of an actor.
std::string actor_of(const std::string& job, fs::path file) {
  auto path = "/jobs/" + job;
  if (file != "job.supervisor.log") path += "/" + file.replace_extension().string();
  return log_file_of(path) ? path : std::string();
}

std::string read_at(int fd, std::uint64_t offset, std::size_t limit) {
  std::string text(limit, '\0');
  const auto got = ::pread(fd, text.data(), limit, static_cast<off_t>(offset));
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return text;
}

struct Dated {
  std::uint64_t offset = 0;
  std::int64_t ms = 0;
};

/// The first line with a time that begins in [from, from + chunk), or at `from` where that is the
/// file's beginning.
std::optional<Dated> first_dated(int fd, std::uint64_t from, std::int64_t not_before) {
  const auto text = read_at(fd, from, chunk);
  std::size_t begin = 0;
  if (from > 0) {
    begin = text.find('\n');
    if (begin == text.npos) return std::nullopt;
    ++begin;
  }
  while (begin < text.size()) {
    const auto end = std::min(text.find('\n', begin), text.size());
    const auto ms = line_time_ms(std::string_view(text).substr(begin, end - begin));
    if (ms && *ms >= not_before) return Dated{from + begin, *ms};
    begin = end + 1;
  }
  return std::nullopt;
}

std::uint64_t offset_since(int fd, std::uint64_t size, std::int64_t since_ms) {
  constexpr auto any = std::numeric_limits<std::int64_t>::min();
  std::uint64_t low = 0;
  std::uint64_t high = size;
  while (high - low > chunk) {
    const auto middle = low + (high - low) / 2;
    const auto found = first_dated(fd, middle, any);
    if (found && found->ms < since_ms) {
      low = std::max(middle, low + 1);
    } else {
      high = middle;
    }
  }
  for (auto from = low; from < size; from += chunk) {
    if (const auto found = first_dated(fd, from, since_ms)) return found->offset;
  }
  return size;
}

Failure no_path(const std::string& target) {
  return fail(ErrorCode::invalid_argument,
              "'" + target.substr(0, 200) +
                  "' is neither a job nor the path of an actor, such as "
                  "digits or /jobs/digits/trainers/0");
}

}  // namespace

std::string LogStore::id() const {
  char host[128] = "";
  ::gethostname(host, sizeof host - 1);
  struct stat info {};
  if (::stat(home_.c_str(), &info) != 0) return {};
  return std::string(host) + ":" + std::to_string(info.st_dev) + ":" + std::to_string(info.st_ino);
}

std::string LogStore::last_run(const std::string& job) const {
  std::pair<std::string, fs::file_time_type> last;
  std::string found;
  std::error_code error;
  for (fs::directory_iterator it(home_ / job, error), end; !error && it != end;
       it.increment(error)) {
    const auto name = it->path().filename().string();
    std::error_code gone;
    // "20260501-120000-PROCESS": of those of one second, the one that was written to last.
    const std::pair<std::string, fs::file_time_type> when(name.substr(0, 15),
                                                          fs::last_write_time(it->path(), gone));
    if (!is_run(name) || gone || (!found.empty() && when < last)) continue;
    found = name;
    last = when;
  }
  return found;
}

std::vector<std::string> LogStore::jobs() const {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator it(home_, error), end; !error && it != end; it.increment(error)) {
    const auto name = it->path().filename().string();
    if (log_file_of("/jobs/" + name) && !last_run(name).empty()) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  if (names.size() > most_jobs) names.resize(most_jobs);
  return names;
}

Result<LogStore::Listing> LogStore::list(const std::string& target, const std::string& run,
                                         const std::string& after, std::size_t limit) const {
  const auto path = path_of(target);
  if (!log_file_of(path) || (!run.empty() && !is_run(run))) return no_path(target);
  Listing listing;
  listing.job = job_of(path);
  listing.run = run.empty() ? last_run(listing.job) : run;
  const auto logs = folder(listing.job, listing.run);
  std::error_code error;
  if (listing.run.empty() || !fs::is_directory(logs, error)) {
    listing.run.clear();
    listing.jobs = jobs();
    return listing;
  }
  for (fs::recursive_directory_iterator it(logs, error), end; !error && it != end;
       it.increment(error)) {
    if (it->path().extension() != ".log") continue;
    auto actor = actor_of(listing.job, it->path().lexically_relative(logs));
    if (!actor.empty() && is_below(actor, path) && actor > after) {
      listing.actors.push_back(std::move(actor));
    }
  }
  std::sort(listing.actors.begin(), listing.actors.end());
  if (listing.actors.size() > limit) {
    listing.actors.resize(limit);
    listing.next = listing.actors.back();
  }
  return listing;
}

Result<LogStore::Part> LogStore::read(const std::string& actor, const std::string& run,
                                      std::uint64_t offset, std::size_t limit,
                                      std::int64_t since_ms) const {
  const auto file = log_file_of(actor);
  if (!file || !is_run(run)) return no_path(actor);
  const auto path = folder(job_of(actor), run) / *file;
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat info {};
  if (!fd || ::fstat(fd.get(), &info) != 0 || !S_ISREG(info.st_mode)) {
    const bool none = errno == ENOENT || errno == ENOTDIR;
    return fail(none ? ErrorCode::not_found : ErrorCode::permission_denied,
                "the log of " + actor + " in run " + run + ": " +
                    (fd ? std::string("is no file") : errno_text(errno)));
  }
  Part part;
  part.size = static_cast<std::uint64_t>(info.st_size);
  if (offset == 0 && since_ms > 0) offset = offset_since(fd.get(), part.size, since_ms);
  part.text = read_at(fd.get(), offset, std::clamp<std::size_t>(limit, 1, most_bytes));
  part.next = offset + part.text.size();
  return part;
}

}  // namespace troupe
