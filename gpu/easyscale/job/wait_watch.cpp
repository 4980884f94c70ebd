// SPDX-License-Identifier: Apache-2.0
#include "gpu/easyscale/job/wait_watch.hpp"

#include <utility>

namespace troupe::easyscale {
namespace {

constexpr Seconds patience{2};
constexpr Seconds repeat{10};

}  // namespace

void WaitWatch::moved(Seconds now) {
  moved_ = now;
  what_.clear();
}

std::optional<std::string> WaitWatch::tick(const JobState& job, Seconds now) {
  const bool over = job.phase == JobState::Phase::done || job.phase == JobState::Phase::failed;
  if (over || now - moved_ < patience) return std::nullopt;
  std::string what = waiting_for(job);
  if (what == what_ && now - said_ < repeat) return std::nullopt;
  what_ = std::move(what);
  said_ = now;
  return what_;
}

}  // namespace troupe::easyscale
