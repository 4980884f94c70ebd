// SPDX-License-Identifier: Apache-2.0
#include "actors/core/remote/pending_requests.hpp"

namespace troupe {

PendingRequests::Key PendingRequests::key(ActorNumber asker, caf::message_id id) {
  return {asker, id.request_id().integer_value()};
}

void PendingRequests::add(ActorNumber asker, Request request) {
  const auto at = key(asker, request.id);
  const std::lock_guard lock(mutex_);
  requests_[at] = std::move(request);
}

caf::strong_actor_ptr PendingRequests::take(const NodeId& from, ActorNumber asker,
                                            caf::message_id id) {
  const std::lock_guard lock(mutex_);
  const auto it = requests_.find(key(asker, id));
  if (it == requests_.end() || it->second.asked != from) return nullptr;
  auto result = std::move(it->second.asker);
  requests_.erase(it);
  return result;
}

template <class Wanted>
std::vector<PendingRequests::Request> PendingRequests::take_if(Wanted&& wanted) {
  std::vector<Request> taken;
  const std::lock_guard lock(mutex_);
  std::erase_if(requests_, [&](auto& entry) {
    const bool hit = wanted(entry.second);
    if (hit) taken.push_back(std::move(entry.second));
    return hit;
  });
  return taken;
}

std::vector<PendingRequests::Request> PendingRequests::take_asked(const NodeId& node) {
  return take_if([&](const Request& request) { return request.asked == node; });
}

std::vector<PendingRequests::Request> PendingRequests::take_overdue(Clock::time_point now) {
  return take_if([&](const Request& request) { return request.due < now; });
}

}  // namespace troupe
