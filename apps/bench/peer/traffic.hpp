// SPDX-License-Identifier: Apache-2.0
//
// The actors that are measured, the same ones over every network that carries CAF's actors: what
// differs is the Wire, which says how the messages look there:
//
//     Data, Start, Ack                                 message types
//     Data data(bytes); Start start(task); Ack ack(n)  make them
//     Order read(const Start&); std::uint64_t read(const Ack&); std::uint64_t size(const Data&)
#pragma once

#include "apps/bench/peer/task.hpp"

#include <caf/actor_cast.hpp>
#include <caf/actor_system.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/make_message.hpp>
#include <caf/send.hpp>
#include <caf/stateful_actor.hpp>

#include <algorithm>
#include <chrono>
#include <future>
#include <memory>
#include <utility>
#include <vector>

namespace troupe::bench {

using Clock = std::chrono::steady_clock;

/// What a Start asks for; count 0: send everything back.
struct Order {
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;
  std::uint64_t every = 0;
};

[[nodiscard]] inline Order order_of(const Task& task) {
  if (task.work == Work::ping_pong) return {0, task.bytes, 0};
  return {task.count, task.bytes, task.ack_every()};
}

struct Answering {
  Order order;
  std::uint64_t received = 0;
};

/// Sends data back, or counts it, as it was told last.
template <class Wire>
caf::behavior answer_data(caf::stateful_actor<Answering>* self) {
  return {[=](const typename Wire::Start& start) {
            self->state = {Wire::read(start), 0};
          },
          [=](const typename Wire::Data& data) {
            auto& [order, received] = self->state;
            if (Wire::size(data) != order.bytes) return;  // the asker waits in vain, which shows
            const auto asker = caf::actor_cast<caf::actor>(self->current_sender());
            if (order.count == 0) return self->send(asker, data);
            ++received;
            if (received == order.count || (order.every != 0 && received % order.every == 0)) {
              self->send(asker, Wire::ack(received));
            }
          }};
}

using Figures = std::shared_ptr<std::promise<std::vector<double>>>;

struct Pinging {
  std::vector<double> times;
  std::uint64_t left = 0;
  Clock::time_point sent;
};

/// Sends one message after the other, each when the one before has come back.
template <class Wire>
caf::behavior ping(caf::stateful_actor<Pinging>* self, const caf::actor& other, const Task& task,
                   const Figures& done) {
  const auto unmeasured = task.count / 10;
  self->state.left = task.count + unmeasured;
  const auto send_one = [=] {
    self->state.sent = Clock::now();
    self->send(other, Wire::data(task.bytes));
  };
  return {[=](caf::atom_value) {
            self->send(other, Wire::start(order_of(task)));
            send_one();
          },
          [=](const typename Wire::Data&) {
            auto& [times, left, sent] = self->state;
            const std::chrono::duration<double, std::micro> time = Clock::now() - sent;
            if (left <= task.count) times.push_back(time.count());
            if (--left > 0) return send_one();
            done->set_value({percentile(times, 0.5), percentile(times, 0.99)});
            self->quit();
          }};
}

struct Streaming {
  std::uint64_t sent = 0;
  Clock::time_point begin;
};

/// Sends as many messages as the window allows, until the last one is acknowledged. Small ones are
/// made one by one, as a program would; of large ones there is one, which costs no copy.
template <class Wire>
caf::behavior stream(caf::stateful_actor<Streaming>* self, const caf::actor& other,
                     const Task& task, const Figures& done) {
  const auto large =
      task.bytes > max_inner_bytes ? caf::make_message(Wire::data(task.bytes)) : caf::message{};
  const auto send_until = [=](std::uint64_t limit) {
    for (auto& sent = self->state.sent; sent < std::min(limit, task.count); ++sent) {
      if (large.empty()) {
        self->send(other, Wire::data(task.bytes));
      } else {
        self->send(other, large);
      }
    }
  };
  return {[=](caf::atom_value) {
            self->state.begin = Clock::now();
            self->send(other, Wire::start(order_of(task)));
            send_until(task.window == 0 ? task.count : task.window);
          },
          [=](const typename Wire::Ack& ack) {
            const auto received = Wire::read(ack);
            if (received < task.count) return send_until(received + task.window);
            const std::chrono::duration<double> time = Clock::now() - self->state.begin;
            done->set_value({time.count()});
            self->quit();
          }};
}

/// Carries out a task towards `other`; `prepare` gets the actor before it does anything.
template <class Wire, class Prepare>
std::vector<double> run_traffic(caf::actor_system& system, const caf::actor& other,
                                const Task& task, Prepare&& prepare) {
  const auto done = std::make_shared<std::promise<std::vector<double>>>();
  auto figures = done->get_future();
  const auto actor = task.work == Work::ping_pong ? system.spawn(ping<Wire>, other, task, done)
                                                  : system.spawn(stream<Wire>, other, task, done);
  prepare(actor);
  caf::anon_send(actor, caf::atom("start"));
  return figures.get();
}

}  // namespace troupe::bench
