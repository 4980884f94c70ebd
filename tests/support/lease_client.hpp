// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/core/lease/lease_keeper_actor.hpp"
#include "tests/support/wait.hpp"

#include <caf/event_based_actor.hpp>
#include <caf/send.hpp>

#include <mutex>
#include <optional>
#include <vector>

namespace troupe::test {

/// An actor that wants a lease, stops when it is told to, and keeps what it was told.
class LeaseClient {
 public:
  struct Told {
    std::vector<LeaseHeld> held;
    std::vector<LeaseStop> stops;
    std::vector<Millis> left;  ///< how long before its end each stop was heard
    std::vector<LeaseWaiting> waits;
    int ended = 0;
  };

  explicit LeaseClient(caf::actor_system& system) : told_(std::make_shared<Locked>()) {
    actor_ = system.spawn([told = told_](caf::event_based_actor* self) {
      return caf::behavior{
          [=](const LeaseHeld& held) { told->change([&](Told& t) { t.held.push_back(held); }); },
          [=](const LeaseStop& stop) {
            told->change([&](Told& t) {
              t.stops.push_back(stop);
              t.left.push_back(t.held.back().term->until() - BootClock::now());
            });
            self->send(caf::actor_cast<caf::actor>(self->current_sender()), LeaseStopped{});
          },
          [=](const LeaseWaiting& waiting) {
            told->change([&](Told& t) { t.waits.push_back(waiting); });
          },
          [=](const LeaseEnded&) { told->change([](Told& t) { ++t.ended; }); }};
    });
  }
  LeaseClient(const LeaseClient&) = delete;
  ~LeaseClient() { caf::anon_send_exit(actor_, caf::exit_reason::kill); }

  [[nodiscard]] const caf::actor& actor() const { return actor_; }
  [[nodiscard]] Told told() const {
    const std::lock_guard lock(told_->mutex);
    return told_->told;
  }
  /// The lease, if it is held now.
  [[nodiscard]] std::optional<LeaseHeld> held() const {
    const auto all = told();
    if (all.held.size() <= all.stops.size() || !all.held.back().term->holds()) return {};
    return all.held.back();
  }

 private:
  struct Locked {
    std::mutex mutex;
    Told told;

    template <class Change>
    void change(Change&& how) {
      const std::lock_guard lock(mutex);
      how(told);
    }
  };

  std::shared_ptr<Locked> told_;
  caf::actor actor_;
};

}  // namespace troupe::test
