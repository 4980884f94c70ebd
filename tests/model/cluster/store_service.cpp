// SPDX-License-Identifier: Apache-2.0
#include "tests/model/cluster/store_service.hpp"

#include <optional>
#include <utility>

namespace troupe::model {
namespace {

constexpr auto answer_limit = Millis(3000);
constexpr std::size_t home = 0;

}  // namespace

StoreService::StoreService(EventLoop& loop, Network& network, std::uint64_t seed)
    : loop_(loop), network_(network), random_(seed ^ 0x5704e) {
  data_->now = [this] {
    return BootClock::time_point(
        std::chrono::duration_cast<Millis>(loop_.now().time_since_epoch()));
  };
}

void StoreService::set_reachable(bool reachable) { data_->reachable = reachable; }
void StoreService::set_flaky(bool flaky) { flaky_ = flaky; }

bool StoreService::reaches(std::size_t machine) const {
  return data_->reachable && !network_.blocked(machine, home) && !network_.blocked(home, machine);
}

Millis StoreService::travel(std::size_t machine) {
  const std::uint64_t most = network_.delayed(machine) ? 1500 : 30;
  return Millis(1 + random_() % most);
}

void StoreService::ask(std::size_t machine, std::function<KeeperEvent(Store&)> what,
                       std::function<void(const KeeperEvent&)> answer) {
  const auto once = [answered = std::make_shared<bool>(false),
                     answer = std::move(answer)](const KeeperEvent& event) {
    if (!std::exchange(*answered, true)) answer(event);
  };
  network_.later(machine, answer_limit, [once] {
    once(keeper_event::Failed{{ErrorCode::timeout, "the store did not answer within 3 s"}});
  });
  if (network_.blocked(machine, home) || lost()) return;
  // Once sent it arrives, whatever becomes of the process; an answer finds only that process.
  const auto there = travel(machine);
  const auto back = travel(machine);
  const auto said = std::make_shared<std::optional<KeeperEvent>>();
  loop_.after(there, [this, machine, what = std::move(what), said] {
    test::MemoryStore store(data_);
    const auto event = what(store);
    if (!network_.blocked(home, machine) && !lost()) *said = event;
  });
  network_.later(machine, there + back, [once, said] {
    if (*said) once(**said);
  });
}

}  // namespace troupe::model
