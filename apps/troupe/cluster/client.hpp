// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/core/ask.hpp"
#include "actors/core/kinds.hpp"
#include "actors/core/message.hpp"
#include "actors/core/node.hpp"
#include "actors/core/reason.hpp"
#include "apps/troupe/options.hpp"

#include <caf/actor.hpp>
#include <caf/event_based_actor.hpp>

#include <atomic>
#include <future>
#include <memory>
#include <string>
#include <vector>

namespace troupe {

/// A command's place in a cluster: a node of its own for as long as the command lasts, joined to
/// one node, which passes questions on to the others.
class ClusterClient {
 public:
  /// Finds a node (of this user on this machine by its Unix socket, or the one that is named) and
  /// joins it. Errors say what to do: no node, several nodes, a wrong secret, nobody there.
  [[nodiscard]] static Result<std::unique_ptr<ClusterClient>> open(const ClusterOptions& options);
  ~ClusterClient();
  ClusterClient(const ClusterClient&) = delete;

  /// The node that was joined.
  [[nodiscard]] const PeerInfo& entry() const { return entry_; }
  /// Who asks, for the logs of those who are asked: "client.1234".
  [[nodiscard]] const std::string& name() const { return node_->self().id.name; }

  /// Asks the joined node's control actor all of these at once and waits for all answers. A node
  /// that does not answer in time costs its own answer only.
  template <class Answer, class Request>
  [[nodiscard]] std::vector<Result<Msg<Answer>>> ask_all(std::vector<Msg<Request>> requests);
  template <class Answer, class Request>
  [[nodiscard]] Result<Msg<Answer>> ask(Msg<Request> request) {
    return ask_all<Answer>(std::vector<Msg<Request>>{std::move(request)}).front();
  }

  /// A little longer than a node waits for another one.
  static constexpr Millis patience{800};

 private:
  ClusterClient() = default;
  [[nodiscard]] static Error in_words(Error error) {
    if (error.code == ErrorCode::timeout) error.what = "no answer in time";
    if (error.what == "request_receiver_down") error.what = "it is gone";
    return error;
  }
  [[nodiscard]] Result<void> join(const Address& to);
  [[nodiscard]] Result<void> find_control();

  ActorKinds kinds_;
  std::unique_ptr<Node> node_;
  PeerInfo entry_;
  caf::actor control_;
};

template <class Answer, class Request>
std::vector<Result<Msg<Answer>>> ClusterClient::ask_all(std::vector<Msg<Request>> requests) {
  struct Box {
    std::vector<Result<Msg<Answer>>> answers;
    std::size_t missing = 0;
    std::promise<void> complete;
    void put(std::size_t i, Result<Msg<Answer>> answer) {
      answers[i] = std::move(answer);
      if (--missing == 0) complete.set_value();
    }
  };
  if (requests.empty()) return {};
  auto box = std::make_shared<Box>();
  box->missing = requests.size();
  box->answers.resize(requests.size());
  node_->system().spawn([box, requests = std::move(requests),
                         control = control_](caf::event_based_actor* self) {
    for (std::size_t i = 0; i < requests.size(); ++i) {
      troupe::ask(self, control, patience, requests[i])
          .then([box, i](const Msg<Answer>& answer) { box->put(i, answer); },
                [box, i](const caf::error& why) { box->put(i, Failure(in_words(from_caf(why)))); });
    }
  });
  box->complete.get_future().wait();
  return std::move(box->answers);
}

}  // namespace troupe
