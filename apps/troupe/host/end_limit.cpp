// SPDX-License-Identifier: Apache-2.0
#include "apps/troupe/host/end_limit.hpp"

#include <cerrno>
#include <cstdio>
#include <cstdlib>

namespace troupe {

EndLimit::EndLimit(std::chrono::seconds limit, std::string what)
    : thread_([this, limit, what = std::move(what)] {
        std::unique_lock lock(mutex_);
        if (done_changed_.wait_for(lock, limit, [this] { return done_; })) return;
        std::fprintf(stderr, "%s node: %s within %lld s\n", program_invocation_short_name,
                     what.c_str(), static_cast<long long>(limit.count()));
        std::_Exit(1);
      }) {}

EndLimit::~EndLimit() {
  {
    const std::lock_guard lock(mutex_);
    done_ = true;
  }
  done_changed_.notify_one();
  thread_.join();
}

}  // namespace troupe
