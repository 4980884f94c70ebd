// SPDX-License-Identifier: Apache-2.0
#include "gpu/easyscale/checkpoint/writer_link.hpp"

#include "actors/base/log.hpp"
#include "gpu/easyscale/checkpoint/folder_link.hpp"
#include "gpu/easyscale/job/sampler.hpp"
#include "messages/version.hpp"

#include <signal.h>
#include <time.h>

#include <algorithm>
#include <utility>

namespace troupe::easyscale {
namespace {

constexpr std::uint64_t hashes_before_thinning = 500;
constexpr int hash_share = 50;  // of the time, one part at most

bool is_turn(std::uint64_t every, std::uint64_t step, std::uint64_t steps) {
  return every > 0 && (step % every == 0 || step == steps);
}

// Of this thread: what hashing costs, however busy the machine is.
std::chrono::nanoseconds own_cpu_time() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

}  // namespace

bool CheckpointPlan::writes(std::uint64_t step, std::uint64_t steps) const {
  return step > 0 && is_turn(every, step, steps);
}

bool CheckpointPlan::hashes(std::uint64_t step, std::uint64_t steps) const {
  std::uint64_t stride = hash_every;
  while (stride > 0 && step / stride > hashes_before_thinning) stride *= 2;
  return is_turn(stride, step, steps);
}

CheckpointWriter::CheckpointWriter(CheckpointPlan plan, Manifest about, std::function<void()> news,
                                   std::chrono::milliseconds patience)
    : plan_(std::move(plan)),
      about_(std::move(about)),
      news_(std::move(news)),
      patience_(patience) {
  // The thread gets no signals, neither those meant for others nor that of a file size limit.
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([this] { run(); });
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

CheckpointWriter::~CheckpointWriter() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

bool CheckpointWriter::wants(std::uint64_t step) const {
  return offered_ != step && (plan_.writes(step, about_.steps) || plan_.hashes(step, about_.steps));
}

void CheckpointWriter::offer(std::uint64_t step, Slice state, StateLayout layout) {
  if (!wants(step)) return;
  offered_ = step;
  Job job{step, std::move(state), std::move(layout)};
  {
    const std::lock_guard lock(mutex_);
    if (plan_.hashes(step, about_.steps)) to_hash_ = job;
    if (plan_.writes(step, about_.steps)) {
      if (to_write_) {
        told_.emplace_back(
            MissedCheckpoint{to_write_->step,
                             {ErrorCode::unavailable,
                              "the one before it was still being written when the next was due"}});
      }
      to_write_ = std::move(job);
    }
  }
  changed_.notify_all();
}

void CheckpointWriter::flush() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return !busy_ && !to_write_ && !to_hash_; });
}

std::vector<CheckpointNews> CheckpointWriter::take_news() {
  const std::lock_guard lock(mutex_);
  return std::exchange(told_, {});
}

void CheckpointWriter::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return stop_ || to_write_ || to_hash_; });
    if (!to_write_ && !to_hash_) return;
    busy_ = true;
    const bool hashes = to_hash_.has_value();  // the shorter one first
    const Job job = *std::exchange(hashes ? to_hash_ : to_write_, std::nullopt);
    lock.unlock();
    if (hashes) {
      hash(job);
    } else {
      write(job);
    }
    lock.lock();
    busy_ = false;
    changed_.notify_all();
  }
}

void CheckpointWriter::tell(CheckpointNews news) {
  {
    const std::lock_guard lock(mutex_);
    told_.push_back(std::move(news));
  }
  news_();
}

void CheckpointWriter::hash(const Job& job) {
  if (Clock::now() < hash_again_ && job.step != about_.steps) return;
  const auto before = own_cpu_time();
  auto tensors = hash_tensors(job.layout, job.state.bytes());
  if (!tensors) return;  // the checkpoint of this state tells why
  tell(HashedState{job.step, std::move(*tensors)});
  hash_again_ = Clock::now() + hash_share * (own_cpu_time() - before);
}

Result<std::optional<WroteCheckpoint>> CheckpointWriter::try_to_write(const Job& job) {
  const auto begin = Clock::now();
  auto folder = CheckpointFolder::lock(plan_.folder, patience_);
  if (!folder) return Failure(folder.error());
  Manifest about = about_;
  about.step = job.step;
  about.version = program_version;
  about.rank_records.clear();
  for (Rank rank = 0; rank < about.identity.ranks; ++rank) {
    about.rank_records.push_back({rank, rank_seed(about.identity.seed, job.step, rank)});
  }
  const auto place = folder->place_for(job.step, [&](const Manifest& there) {
    const auto hashes = hash_tensors(job.layout, job.state.bytes());
    return hashes && there.identity == about.identity && there.tensors.size() == hashes->size() &&
           std::equal(hashes->begin(), hashes->end(), there.tensors.begin(),
                      [](const HashedTensor& a, const TensorRecord& b) {
                        return a.name == b.info.name && a.sha256 == b.sha256;
                      });
  });
  if (!place) return Failure(place.error());
  if (!*place) return std::nullopt;
  const auto written = write_checkpoint(**place, std::move(about), job.layout, job.state.bytes());
  if (!written) return Failure(written.error());
  if (auto ok = folder->retain(plan_.keep, job.step); !ok) {
    log_warn("old checkpoints: {}", ok.error().what);  // the new one is there all the same
  }
  WroteCheckpoint wrote{job.step, **place, 0, Clock::now() - begin};
  for (const FileRecord& file : written->files) wrote.bytes += file.size;
  return wrote;
}

void CheckpointWriter::write(const Job& job) {
  auto wrote = try_to_write(job);
  if (!wrote) return tell(MissedCheckpoint{job.step, wrote.error()});
  if (*wrote) tell(std::move(**wrote));
}

}  // namespace troupe::easyscale
