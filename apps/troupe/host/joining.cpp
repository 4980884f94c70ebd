// SPDX-License-Identifier: Apache-2.0
#include "apps/troupe/host/joining.hpp"

#include "actors/core/membership/member.hpp"

#include <algorithm>

namespace troupe {
namespace {

/// Will another try end in the same way, until somebody changes something?
bool is_final(const Error& why) {
  return why.code == ErrorCode::permission_denied || why.code == ErrorCode::version_mismatch ||
         why.code == ErrorCode::invalid_argument;
}

}  // namespace

void Joining::on(const PeerUp& up) {
  if (is_member(up.peer.role)) joined_ = true;
}

Joining::Next Joining::on(const ConnectFailed& failed) {
  if (joined_ || std::find(to_.begin(), to_.end(), failed.to) == to_.end()) return {};
  failed_.insert_or_assign(failed.to, failed.why);
  if (failed_.size() < to_.size()) return {};
  ++tried_;
  const bool hopeless = std::all_of(failed_.begin(), failed_.end(),
                                    [](const auto& entry) { return is_final(entry.second); });
  failed_.clear();
  if (hopeless || (tries_ && tried_ >= *tries_)) {
    auto why = "cannot join " + to_string(failed.to) + ": " + failed.why.what;
    if (!hopeless && *tries_ > 1) {
      why += " (tried " + std::to_string(tried_) +
             " times); start a node there first, or wait for it with --join-retry";
    }
    return {std::move(why), {}};
  }
  const auto doublings = std::min(tried_ - 1, 10u);
  return {{}, std::min(longest_pause, first_pause * (1u << doublings))};
}

}  // namespace troupe
