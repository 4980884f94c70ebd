// SPDX-License-Identifier: Apache-2.0
#include "tests/model/cluster/schedule.hpp"

#include "tests/model/cluster/draw.hpp"

#include <algorithm>
#include <sstream>

namespace troupe::model {
namespace {

using Kind = Fault::Kind;

Draw draw_for(std::uint64_t seed) { return Draw(seed * 0x9e3779b97f4a7c15ull + 1); }

Fault draw_fault(Draw& draw, const Schedule& schedule) {
  const auto n = schedule.machines;
  const auto end = static_cast<std::uint64_t>(schedule.length.count());
  Fault fault;
  fault.kind = static_cast<Kind>(draw.of(0, 6));
  fault.at = draw.ms(5000, end - 10'000);
  const auto left = static_cast<std::uint64_t>((schedule.length - fault.at).count());
  fault.length = draw.ms(200, std::min<std::uint64_t>(left, 25'000));
  fault.machine = draw.of(0, n - 1);
  fault.other = (fault.machine + draw.of(1, n - 1)) % n;
  fault.group = draw.of(1, (std::uint64_t{1} << n) - 2);
  fault.delay = fault.kind == Kind::jump ? draw.ms(500, 60'000) : draw.ms(50, 1500);
  return fault;
}

const char* name_of(Kind kind) {
  constexpr const char* names[] = {"kill",    "power_off", "stop", "partition",
                                   "one_way", "slow",      "jump"};
  return names[static_cast<int>(kind)];
}

void partition(Network& network, std::uint64_t group, bool blocked) {
  for (std::size_t a = 0; a < network.size(); ++a) {
    for (std::size_t b = 0; b < network.size(); ++b) {
      if (((group >> a) & 1) != ((group >> b) & 1)) network.block(a, b, blocked);
    }
  }
}

/// False: there is nothing that it could befall.
bool strike(Network& network, const Fault& fault) {
  const bool exists = network.exists(fault.machine);
  switch (fault.kind) {
    case Kind::kill:
      if (exists) network.kill(fault.machine);
      return exists;
    case Kind::power_off:
      if (exists) network.power_off(fault.machine);
      return exists;
    case Kind::stop:
      if (exists) network.stop(fault.machine);
      return exists;
    case Kind::partition:
      partition(network, fault.group, true);
      return true;
    case Kind::one_way:
      network.block(fault.machine, fault.other, true);
      return true;
    case Kind::slow:
      network.slow(fault.machine, fault.delay);
      return true;
    case Kind::jump:
      network.jump(fault.machine, fault.delay);
      return true;
  }
  return false;
}

void undo(Network& network, const Fault& fault) {
  switch (fault.kind) {
    case Kind::kill:
    case Kind::power_off:
      return network.exists(fault.machine) ? void() : network.start(fault.machine);
    case Kind::stop:
      return network.exists(fault.machine) ? network.resume(fault.machine) : void();
    case Kind::partition:
      return partition(network, fault.group, false);
    case Kind::one_way:
      return network.block(fault.machine, fault.other, false);
    case Kind::slow:
      return network.slow(fault.machine, Millis(0));
    case Kind::jump:
      return;
  }
}

}  // namespace

Schedule make_schedule(std::uint64_t seed) {
  auto draw = draw_for(seed);
  Schedule schedule;
  schedule.seed = seed;
  schedule.machines = draw.of(3, 9);
  const auto faults = draw.of(1, 8);
  for (std::uint64_t i = 0; i < faults; ++i) schedule.faults.push_back(draw_fault(draw, schedule));
  std::sort(schedule.faults.begin(), schedule.faults.end(),
            [](const Fault& a, const Fault& b) { return a.at < b.at; });
  if (draw.of(0, 1) == 1) {
    schedule.network.loss = 0.05;
    schedule.network.duplicate = 0.05;
    schedule.network.reorder = 0.2;
  }
  return schedule;
}

Schedule make_busy_schedule(std::uint64_t seed) {
  auto draw = draw_for(seed);
  Schedule schedule;
  schedule.seed = seed;
  schedule.machines = draw.of(3, 9);
  for (std::uint64_t at = 5000; at < 50'000; at += draw.of(3000, 8000)) {
    Fault fault{Kind::stop, Millis(at), draw.ms(100, 2000)};
    fault.machine = draw.of(0, schedule.machines - 1);
    schedule.faults.push_back(fault);
  }
  return schedule;
}

std::string to_string(const Schedule& schedule) {
  std::ostringstream out;
  out << "seed " << schedule.seed << ": " << schedule.machines << " machines, loss "
      << schedule.network.loss;
  for (const auto& fault : schedule.faults) {
    out << "\n  " << fault.at.count() << " ms " << name_of(fault.kind) << " for "
        << fault.length.count() << " ms";
    if (fault.kind == Kind::partition) {
      out << " group " << fault.group;
    } else {
      out << " machine " << fault.machine;
    }
    if (fault.kind == Kind::one_way) out << " to " << fault.other;
    if (fault.kind == Kind::slow || fault.kind == Kind::jump) {
      out << " by " << fault.delay.count() << " ms";
    }
  }
  return out.str();
}

void plan(const Schedule& schedule, EventLoop& loop, Network& network,
          std::function<void(const Fault&)> struck) {
  for (const auto& fault : schedule.faults) {
    loop.after(fault.at, [&network, fault, struck] {
      if (strike(network, fault)) struck(fault);
    });
    loop.after(fault.at + fault.length, [&network, fault] { undo(network, fault); });
  }
}

}  // namespace troupe::model
