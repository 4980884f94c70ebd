// SPDX-License-Identifier: Apache-2.0
#include "actors/core/supervise/path_router.hpp"

#include "actors/core/reason.hpp"

#include <caf/actor_cast.hpp>
#include <caf/actor_proxy.hpp>
#include <caf/actor_system.hpp>
#include <caf/make_actor.hpp>

#include <deque>
#include <optional>
#include <utility>

namespace troupe {
namespace {

void answer(const caf::mailbox_element& element, const Error& why) {
  if (!element.mid.is_request() || !element.sender) return;
  element.sender->enqueue(nullptr, element.mid.response_id(), caf::make_message(to_caf(why)),
                          nullptr);
}

}  // namespace

/// An actor handle that passes on what it gets: sender and number stay, so answers go straight to
/// who asked.
class PathAddress final : public caf::actor_proxy {
 public:
  PathAddress(caf::actor_config& config, std::string path, std::size_t capacity)
      : caf::actor_proxy(config), path_(std::move(path)), capacity_(capacity) {}

  using caf::actor_proxy::enqueue;
  void enqueue(caf::mailbox_element_ptr element, caf::execution_unit* unit) override {
    caf::strong_actor_ptr target;
    Error why;
    {
      const std::lock_guard lock(mutex_);
      if (target_) {
        target = target_;  // one after the other: order is kept
        return target->enqueue(std::move(element), unit);
      }
      if (!gone_ && waiting_.size() < capacity_) return waiting_.push_back(std::move(element));
      ++dropped_;
      why = gone_.value_or(Error{ErrorCode::resource_exhausted,
                                 path_ + " is being started, and " + std::to_string(capacity_) +
                                     " messages wait for it already"});
    }
    answer(*element, why);
  }

  void up(const caf::actor& actor) {
    const std::lock_guard lock(mutex_);
    target_ = caf::actor_cast<caf::strong_actor_ptr>(actor);
    for (auto& element : std::exchange(waiting_, {})) target_->enqueue(std::move(element), nullptr);
  }
  void down() {
    const std::lock_guard lock(mutex_);
    target_ = nullptr;
  }
  /// It does not come back.
  void end(const Error& why) {
    std::deque<caf::mailbox_element_ptr> lost;
    {
      const std::lock_guard lock(mutex_);
      target_ = nullptr;
      gone_ = why;
      lost.swap(waiting_);
      dropped_ += lost.size();
    }
    for (const auto& element : lost) answer(*element, why);
    kill_proxy(nullptr, to_caf(why));
  }
  void kill_proxy(caf::execution_unit* host, caf::error reason) override {
    cleanup(std::move(reason), host);
  }
  [[nodiscard]] std::uint64_t dropped() const {
    const std::lock_guard lock(mutex_);
    return dropped_;
  }

 private:
  const std::string path_;
  const std::size_t capacity_;
  mutable std::mutex mutex_;
  caf::strong_actor_ptr target_;
  std::optional<Error> gone_;
  std::deque<caf::mailbox_element_ptr> waiting_;
  std::uint64_t dropped_ = 0;
};

namespace {

PathAddress& address_of(const caf::strong_actor_ptr& handle) {
  return *static_cast<PathAddress*>(handle->get());
}

}  // namespace

PathRouter::~PathRouter() { close({ErrorCode::aborted, "this node is stopping"}); }

caf::strong_actor_ptr PathRouter::make(const std::string& path) {
  caf::actor_config config;
  return caf::make_actor<PathAddress, caf::strong_actor_ptr>(
      system_.next_actor_id(), system_.node(), &system_, config, path, capacity_);
}

caf::actor PathRouter::at(const std::string& path) {
  const std::lock_guard lock(mutex_);
  if (closed_) return nullptr;
  auto& handle = addresses_[path];
  if (!handle) {
    handle = make(path);
    if (const auto it = living_.find(path); it != living_.end()) address_of(handle).up(it->second);
  }
  return caf::actor_cast<caf::actor>(handle);
}

caf::actor PathRouter::now_at(const std::string& path) const {
  const std::lock_guard lock(mutex_);
  const auto it = living_.find(path);
  return it == living_.end() ? nullptr : it->second;
}

std::uint64_t PathRouter::dropped() const {
  const std::lock_guard lock(mutex_);
  auto all = dropped_;
  for (const auto& [path, handle] : addresses_) all += address_of(handle).dropped();
  return all;
}

void PathRouter::up(const std::string& path, const caf::actor& actor) {
  const std::lock_guard lock(mutex_);
  if (closed_) return;
  living_[path] = actor;
  if (const auto it = addresses_.find(path); it != addresses_.end())
    address_of(it->second).up(actor);
}

void PathRouter::down(const std::string& path, const Error& why, bool comes_back) {
  caf::strong_actor_ptr ended;
  {
    const std::lock_guard lock(mutex_);
    living_.erase(path);
    const auto it = addresses_.find(path);
    if (it == addresses_.end()) return;
    if (comes_back) return address_of(it->second).down();
    ended = std::move(it->second);
    addresses_.erase(it);
  }
  address_of(ended).end({why.code, path + " does not come back: " + why.what});
  const std::lock_guard lock(mutex_);
  dropped_ += address_of(ended).dropped();
}

void PathRouter::close(const Error& why) {
  std::map<std::string, caf::strong_actor_ptr> all;
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    all.swap(addresses_);
    living_.clear();
  }
  for (const auto& [path, handle] : all) address_of(handle).end(why);
}

}  // namespace troupe
