// SPDX-License-Identifier: Apache-2.0
#include "tests/model/cluster/network.hpp"

#include "actors/base/assert.hpp"

#include <algorithm>

namespace troupe::model {
namespace {

constexpr auto call_limit = Millis(5000);
constexpr auto ping_every = Millis(500);
constexpr auto own_pause = Millis(1000);

}  // namespace

Network::Network(EventLoop& loop, std::size_t machines, std::uint64_t seed, Options options,
                 MakeProgram make)
    : loop_(loop), options_(options), make_(std::move(make)), random_(seed), machines_(machines) {}

Address Network::address(std::size_t machine) const {
  return {"10.0.0." + std::to_string(machine + 1), 7070};
}

std::size_t Network::machine_at(const Address& where) const {
  for (std::size_t i = 0; i < machines_.size(); ++i) {
    if (address(i) == where) return i;
  }
  TROUPE_ASSERT(!"an address of no machine");
  return 0;
}

bool Network::falls(double chance) {
  return static_cast<double>(random_() % 1'000'000) < chance * 1e6;
}

bool Network::is_cut(std::size_t a, std::size_t b) const {
  return blocked(a, b) || blocked(b, a) || machines_[a].off || machines_[b].off;
}

std::uint64_t Network::disturbances(std::size_t a, std::size_t b) const {
  const auto it = ways_.find({std::min(a, b), std::max(a, b)});
  return it == ways_.end() ? 0 : it->second;
}

Millis Network::latency(std::size_t from) {
  const auto least = options_.latency.count();
  auto all =
      Millis(least + static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(least + 1)));
  const auto delay = machines_[from].delay.count();
  if (delay > 0) all += Millis(random_() % static_cast<std::uint64_t>(delay));
  return all;
}

TimePoint Network::clock(std::size_t machine) const {
  return loop_.now() + machines_[machine].offset;
}

void Network::at(std::size_t machine, std::uint64_t life, std::function<void()> what) {
  auto& there = machines_[machine];
  if (there.program == nullptr || there.life != life) return;
  if (there.stopped) {
    there.waiting.push_back(
        [this, machine, life, what = std::move(what)] { at(machine, life, what); });
  } else {
    what();
  }
}

void Network::later(std::size_t machine, Millis wait, std::function<void()> what) {
  loop_.after(wait, [this, machine, life = machines_[machine].life, what = std::move(what)] {
    at(machine, life, what);
  });
}

void Network::start(std::size_t machine) {
  auto& here = machines_[machine];
  TROUPE_ASSERT(here.program == nullptr);
  ++here.disturbances;
  ++here.life;
  here.off = here.stopped = false;
  here.delay = Millis(0);
  here.ticked = clock(machine);
  here.waiting.clear();
  here.dead.clear();
  here.self = {{std::string(1, static_cast<char>('a' + machine)), ++incarnations_},
               address(machine),
               "1",
               1,
               NodeRole::host};
  here.program = make_(*this, machine, here.self);
  here.program->on_start();
  beat(machine, here.life);
}

/// Ticks and pings of one life.
void Network::beat(std::size_t machine, std::uint64_t life) {
  const auto& here = machines_[machine];
  if (here.program == nullptr || here.life != life) return;
  if (!here.stopped) {
    keep_time(machine);
    if (here.program != nullptr && here.life == life) here.program->on_tick();
  }
  const auto jitter = Millis(random_() % 20);
  loop_.after(options_.tick + jitter, [this, machine, life] { beat(machine, life); });
}

void Network::keep_time(std::size_t machine) {
  auto& here = machines_[machine];
  const auto now = clock(machine);
  const auto pause = now - std::exchange(here.ticked, now);
  const auto all = connections_;
  for (const auto& c : all) {
    for (int side = 0; side < 2; ++side) {
      auto& end = c->ends[side];
      if (end.machine != machine || end.life != here.life || !end.open) continue;
      const auto other = c->ends[1 - side];
      if (pause > own_pause) end.heard = std::min(end.heard + pause, now);
      const bool blocked = is_cut(machine, other.machine);
      if (!blocked) c->blocked_since = TimePoint::max();
      if (blocked && c->blocked_since == TimePoint::max()) c->blocked_since = loop_.now();
      // Silence by its own clock, or packets that nobody confirms.
      const bool silent = now - end.heard > options_.silence_limit;
      const bool stuck = blocked && loop_.now() - c->blocked_since > options_.silence_limit;
      if (silent || stuck) {
        close(c, side, {ErrorCode::timeout, "no sign of life for 5 s"});
      } else if (now.time_since_epoch() % ping_every < options_.tick + Millis(20)) {
        transmit(c, side, [this, c, side] {
          auto& there = c->ends[1 - side];
          there.heard = clock(there.machine);
          machines_[there.machine].program->on_sign_of_life(c->ends[side].id);
        });
      }
    }
  }
}

void Network::transmit(const std::shared_ptr<Connection>& c, int from,
                       std::function<void()> deliver, bool ordered) {
  auto& sender = c->ends[from];
  const auto& receiver = c->ends[1 - from];
  auto packet = [this, c, from, deliver = std::move(deliver)] {
    const auto& to = c->ends[1 - from];
    at(to.machine, to.life, [c, from, deliver] {
      if (c->ends[1 - from].open) deliver();
    });
  };
  if (machines_[receiver.machine].off) return;
  if (blocked(sender.machine, receiver.machine)) {
    c->held[1 - from].push_back(std::move(packet));
    return;
  }
  auto due = loop_.now() + latency(sender.machine);
  if (ordered) due = sender.sent = std::max(due, sender.sent);
  loop_.after(due - loop_.now(), std::move(packet));
}

std::shared_ptr<Network::Connection> Network::connection(std::size_t machine, const NodeId& to,
                                                         int& side) {
  for (const auto& c : connections_) {
    for (side = 0; side < 2; ++side) {
      const auto& end = c->ends[side];
      const bool ours = end.machine == machine && end.life == machines_[machine].life && end.open;
      if (ours && c->ends[1 - side].id == to) return c;
    }
  }
  return nullptr;
}

void Network::send(std::size_t from, const NodeId& to, std::function<void(Program&)> deliver) {
  int side = 0;
  const auto c = connection(from, to, side);
  if (c == nullptr || falls(options_.loss)) return;
  const auto at_receiver = [this, c, side, deliver = std::move(deliver)] {
    deliver(*machines_[c->ends[1 - side].machine].program);
  };
  if (falls(options_.duplicate)) transmit(c, side, at_receiver);
  transmit(c, side, at_receiver, !falls(options_.reorder));
}

void Network::dial(std::size_t from, const Address& to) {
  const auto life = machines_[from].life;
  loop_.after(latency(from), [this, from, life, to] { answer_call(from, life, to); });
}

void Network::fail_call(std::size_t from, std::uint64_t life, const Address& to, Error why,
                        Millis after) {
  loop_.after(after, [this, from, life, to, why] {
    at(from, life, [this, from, to, why] { machines_[from].program->on_connect_failed(to, why); });
  });
}

void Network::answer_call(std::size_t from, std::uint64_t life, const Address& to) {
  auto& caller = machines_[from];
  if (caller.program == nullptr || caller.life != life) return;
  const auto machine = machine_at(to);
  auto& called = machines_[machine];
  if (is_cut(from, machine) || called.stopped || caller.stopped) {
    return fail_call(from, life, to, {ErrorCode::timeout, "no answer within 5 s"}, call_limit);
  }
  if (called.program == nullptr) {
    return fail_call(from, life, to, {ErrorCode::not_found, "nothing listens there"}, Millis(1));
  }
  if (caller.dead.contains(called.self.id) || called.dead.contains(caller.self.id)) {
    return fail_call(from, life, to, {ErrorCode::aborted, "was declared dead"}, Millis(1));
  }
  int side = 0;
  if (connection(from, called.self.id, side) != nullptr) return;
  auto c = std::make_shared<Connection>();
  c->ends[0] = {from, life, caller.self.id, clock(from), loop_.now()};
  c->ends[1] = {machine, called.life, called.self.id, clock(machine), loop_.now()};
  connections_.push_back(c);
  const auto caller_info = caller.self;
  const auto called_info = called.self;
  caller.program->on_peer_up(called_info);
  if (called.program != nullptr) called.program->on_peer_up(caller_info);
}

void Network::close(const std::shared_ptr<Connection>& c, int side, const Error& why) {
  auto& end = c->ends[side];
  if (!std::exchange(end.open, false)) return;
  auto& here = machines_[end.machine];
  const auto other = c->ends[1 - side].id;
  here.dead.insert(other);
  buried_.insert(other);
  transmit(c, side, [this, c, side] {
    close(c, 1 - side, {ErrorCode::unavailable, "the other side closed the connection"});
  });
  std::erase_if(connections_,
                [](const auto& one) { return !one->ends[0].open && !one->ends[1].open; });
  if (here.program != nullptr) here.program->on_peer_down(other, why);
}

void Network::drop(std::size_t from, const NodeId& id, const Error& why) {
  auto& here = machines_[from];
  here.dead.insert(id);
  buried_.insert(id);
  int side = 0;
  const auto c = connection(from, id, side);
  if (c == nullptr) return;
  c->ends[side].open = false;
  transmit(c, side, [this, c, side, why] { close(c, 1 - side, why); });
  const auto life = here.life;
  loop_.after(Millis(1), [this, from, life, id, why] {
    at(from, life, [this, from, id, why] { machines_[from].program->on_peer_down(id, why); });
  });
}

void Network::end_links(std::size_t machine, const Error& why, bool tell) {
  const auto all = connections_;
  for (const auto& c : all) {
    for (int side = 0; side < 2; ++side) {
      auto& end = c->ends[side];
      if (end.machine != machine || !std::exchange(end.open, false) || !tell) continue;
      transmit(c, side, [this, c, side, why] { close(c, 1 - side, why); });
    }
  }
  std::erase_if(connections_, [](const auto& c) { return !c->ends[0].open && !c->ends[1].open; });
}

void Network::exit(std::size_t machine, std::optional<Millis> again) {
  auto& here = machines_[machine];
  ++here.disturbances;
  end_links(machine, {ErrorCode::not_found, "it said goodbye"}, true);
  // Its program may be what called this.
  loop_.after(Millis(0), [gone = std::shared_ptr<Program>(std::move(here.program))] {});
  if (!again) return;
  loop_.after(*again, [this, machine, life = here.life] {
    if (machines_[machine].program == nullptr && machines_[machine].life == life) start(machine);
  });
}

void Network::kill(std::size_t machine) {
  auto& here = machines_[machine];
  ++here.disturbances;
  here.program.reset();
  end_links(machine, {ErrorCode::unavailable, "the other side closed the connection"}, true);
}

void Network::power_off(std::size_t machine) {
  auto& here = machines_[machine];
  ++here.disturbances;
  here.program.reset();
  here.off = true;
  end_links(machine, {}, false);
}

void Network::stop(std::size_t machine) {
  ++machines_[machine].disturbances;
  machines_[machine].stopped = true;
}

void Network::resume(std::size_t machine) {
  auto& here = machines_[machine];
  ++here.disturbances;
  if (!std::exchange(here.stopped, false)) return;
  for (auto& what : std::exchange(here.waiting, {})) what();
}

void Network::slow(std::size_t machine, Millis delay) {
  ++machines_[machine].disturbances;
  machines_[machine].delay = delay;
}

void Network::jump(std::size_t machine, Millis forward) {
  ++machines_[machine].disturbances;
  machines_[machine].offset += forward;
}

void Network::block(std::size_t from, std::size_t to, bool blocked) {
  const bool changes =
      blocked ? blocked_.insert({from, to}).second : blocked_.erase({from, to}) > 0;
  if (!changes) return;
  ++ways_[{std::min(from, to), std::max(from, to)}];
  if (blocked) return;
  for (const auto& c : connections_) {
    for (int side = 0; side < 2; ++side) {
      if (c->ends[side].machine != to || c->ends[1 - side].machine != from) continue;
      for (auto& packet : std::exchange(c->held[side], {}))
        loop_.after(Millis(2), std::move(packet));
    }
  }
}

}  // namespace troupe::model
