// SPDX-License-Identifier: Apache-2.0
#include "apps/troupe/host/launches.hpp"

#include "actors/core/supervise/host_actor.hpp"
#include "apps/troupe/host/machine.hpp"
#include "apps/troupe/host/programs.hpp"
#include "apps/troupe/host/run_directory.hpp"

#include <caf/exit_reason.hpp>
#include <caf/scoped_actor.hpp>

#include <algorithm>

namespace troupe {

Result<std::unique_ptr<LaunchesForOthers>> LaunchesForOthers::start(
    Node& node, const NodeOffer& offer, const NodeCommandOptions& options,
    const std::string& secret) {
  auto home = troupe_home();
  if (!home) return Failure(home.error());
  HostOptions host;
  host.table.host = node.self().id.name;
  host.table.labels = offer.labels;
  // Actors need whole processors; a part of one is better than a host that can do nothing.
  host.table.total = {std::max(1u, static_cast<std::uint32_t>(offer.cpus)), offer.memory,
                      options.gpu.value_or(count_gpus())};
  host.secret = secret;
  host.encrypt = options.encrypt;
  host.logs = *home / ".nodes" / node.self().id.name;  // no job can have that name
  host.find_program = find_program;
  auto actor = spawn_host_actor(node, std::move(host));
  return std::unique_ptr<LaunchesForOthers>(new LaunchesForOthers(node, std::move(actor)));
}

LaunchesForOthers::~LaunchesForOthers() {
  caf::scoped_actor self{node_.system()};
  self->send_exit(host_, caf::exit_reason::user_shutdown);
  self->wait_for(host_);
}

}  // namespace troupe
