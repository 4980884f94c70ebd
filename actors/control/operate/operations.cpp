// SPDX-License-Identifier: Apache-2.0
#include "actors/control/operate/operations.hpp"

#include "actors/base/log.hpp"
#include "actors/control/operate/control_actor.hpp"
#include "actors/control/operate/node_metrics.hpp"
#include "actors/core/node.hpp"

#include <caf/scoped_actor.hpp>
#include <unistd.h>

namespace troupe {

Operations::Operations(Node& node, OperationsOptions options)
    : node_(node),
      options_(std::move(options)),
      control_(spawn_control_actor(
          node, {.table = options_.table, .home = options_.home, .drain = options_.drain})) {}

Result<std::unique_ptr<Operations>> Operations::start(Node& node, OperationsOptions options) {
  std::unique_ptr<Operations> all(new Operations(node, std::move(options)));
  const auto& self = node.self();
  if (all->options_.reachable) {
    auto socket =
        LocalSocket::open(socket_folder(), {self.id.name, self.control, all->options_.secret,
                                            all->options_.encrypt, ::getpid(), self.version});
    if (socket) {
      all->socket_ = std::move(*socket);
    } else {
      log_warn("troupe ps and its like will not find this node: {}", socket.error().what);
    }
  }
  if (all->options_.http) {
    auto http = HttpServer::start(*all->options_.http,
                                  [it = all.get()](const auto& path) { return it->answer(path); });
    if (!http) return Failure(http.error());
    all->http_ = std::move(*http);
  }
  return all;
}

Operations::~Operations() {
  http_.reset();
  socket_.reset();
  node_.offer(control_service, {});
  caf::scoped_actor self{node_.system()};
  self->send_exit(control_, caf::exit_reason::user_shutdown);
  self->wait_for(control_);
}

std::optional<Address> Operations::http() const {
  return http_ ? std::optional(http_->address()) : std::nullopt;
}

HttpAnswer Operations::answer(const std::string& path) const {
  const auto not_ready = options_.not_ready ? options_.not_ready() : std::nullopt;
  if (path == "/alive") return {200, "alive\n"};
  if (path == "/ready") {
    return not_ready ? HttpAnswer{503, "not ready: " + *not_ready + "\n"}
                     : HttpAnswer{200, "ready\n"};
  }
  if (path != "/metrics") return {404, "there are /metrics, /alive and /ready\n"};
  const auto now = std::chrono::steady_clock::now();
  const NodeFacts facts{node_.self().id.name, node_.self().version,
                        std::chrono::duration_cast<std::chrono::milliseconds>(now - started_),
                        !not_ready};
  return {200, options_.table->read([&](const ActorTable& table) {
            return metrics_text(table, facts, now);
          }),
          "text/plain; version=0.0.4; charset=utf-8"};
}

}  // namespace troupe
