// SPDX-License-Identifier: Apache-2.0
#include "actors/control/operate/control_actor.hpp"

#include "actors/base/log.hpp"
#include "actors/control/operate/log_store.hpp"
#include "actors/core/ask.hpp"
#include "actors/core/kinds.hpp"
#include "actors/core/message.hpp"
#include "actors/core/node.hpp"
#include "actors/core/reason.hpp"
#include "actors/core/remote/remote_actors.hpp"
#include "messages/wire_ids.hpp"

#include <caf/event_based_actor.hpp>
#include <caf/result.hpp>
#include <caf/send.hpp>
#include <caf/stateful_actor.hpp>
#include <unistd.h>

#include <algorithm>
#include <map>

namespace troupe {
namespace {

constexpr std::size_t most_rows = 500;
constexpr std::size_t most_peers = 1000;
constexpr std::size_t longest_text = 2000;
constexpr Millis find_limit{5000};

using Time = ActorTable::Time;

std::uint64_t ms_since(Time then) {
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - then)
          .count());
}

struct Member {
  NodeId id;
  caf::actor control;
};

class Control;
using Self = caf::stateful_actor<std::unique_ptr<Control>>;

class Control {
 public:
  Control(Self* self, Node& node, ControlOptions options)
      : self_(self),
        node_(node),
        options_(std::move(options)),
        logs_(options_.home),
        started_(std::chrono::steady_clock::now()) {}

  void on_up(const PeerInfo& peer);
  void on_down(const PeerDown& down);

  caf::result<Msg<msg::ControlPage>> list(msg::ControlList::Reader request) const;
  caf::result<Msg<msg::ControlDone>> kill(msg::ControlKill::Reader request);
  caf::result<Msg<msg::ControlDone>> drain(msg::ControlDrain::Reader request);
  caf::result<Msg<msg::LogFiles>> list_logs(msg::LogList::Reader request) const;
  caf::result<Msg<msg::LogPart>> read_log(msg::LogRead::Reader request) const;

  /// Answers by `local`, or has the node answer that the request is for.
  template <class Answer, class Request, class Local>
  caf::result<Msg<Answer>> serve(const Msg<Request>& request, Local local) {
    auto view = request.read();
    const std::string node = view->getNode();
    if (node.empty() || node == to_string(node_.self().id)) return (this->*local)(*view);
    const auto it = members_.find(node);
    if (it == members_.end()) {
      return to_caf({ErrorCode::not_found, "node " + node.substr(0, longest_text) +
                                               " is not connected to " + node_.self().id.name});
    }
    auto promise = self_->template make_response_promise<Msg<Answer>>();
    const auto limit = std::chrono::duration_cast<Millis>(options_.relay_limit);
    ask(self_, it->second.control, limit, request)
        .then([promise](const Msg<Answer>& answer) mutable { promise.deliver(answer); },
              [promise](caf::error& why) mutable { promise.deliver(std::move(why)); });
    return promise;
  }

 private:
  void add_member(const PeerInfo& peer, ActorNumber control);
  void write_node(msg::ControlPage::Builder to) const;

  Self* self_;
  Node& node_;
  ControlOptions options_;
  LogStore logs_;
  Time started_;
  bool draining_ = false;
  std::map<std::string, Member>
      members_;  ///< by "name/incarnation"; those that have a control actor
};

void Control::on_up(const PeerInfo& peer) {
  auto find = Msg<msg::FindService>::build([](auto b) { b.setName(control_service); });
  ask(self_, node_.node_actor_of(peer), find_limit, std::move(find))
      .then(
          [=, this](const Msg<msg::FoundService>& found) {
            add_member(peer, found.read()->getActor());
          },
          [](const caf::error&) {});  // an engine process, or a command
}

void Control::add_member(const PeerInfo& peer, ActorNumber control) {
  if (members_.size() >= most_peers) return;
  members_[to_string(peer.id)] = {peer.id, node_.resolve({peer.id, peer.control, control})};
  options_.table->up({"/nodes/" + peer.id.name, {peer.id, peer.control, control}, {}, 0});
}

void Control::on_down(const PeerDown& down) {
  if (members_.erase(to_string(down.peer)) == 0) return;
  options_.table->down("/nodes/" + down.peer.name, down.why, false);
}

void Control::write_node(msg::ControlPage::Builder to) const {
  const auto& self = node_.self();
  troupe::write_node(to.initNode(), self.id);
  write_address(to.initControl(), self.control);
  to.setPid(static_cast<std::uint32_t>(::getpid()));
  to.setVersion(self.version);
  to.setUpMs(ms_since(started_));
  to.setDraining(draining_);
  auto peers = to.initPeers(static_cast<unsigned>(members_.size()));
  unsigned i = 0;
  for (const auto& [name, member] : members_) troupe::write_node(peers[i++], member.id);
}

void write_row(msg::ActorRow::Builder to, const ActorEntry& entry) {
  to.setPath(entry.seat.path);
  to.setKind(entry.seat.kind);
  to.setSupervisor(entry.seat.supervisor);
  to.setRestart(entry.seat.restart);
  to.setNode(entry.life.actor.node.name);
  to.setPid(static_cast<std::uint32_t>(entry.life.pid));
  to.setState(entry.state);
  to.setSinceMs(ms_since(entry.since));
  to.setRestarts(entry.restarts);
  to.setStepsPerS(entry.rate.per_second(std::chrono::steady_clock::now()).value_or(-1));
  to.setStep(entry.rate.step());
  to.setWaitsFor(entry.waits_for.substr(0, longest_text));
  to.setCause(entry.cause.substr(0, longest_text));
  to.setLivedMs(static_cast<std::uint64_t>(entry.lived.count()));
}

caf::result<Msg<msg::ControlPage>> Control::list(msg::ControlList::Reader request) const {
  const std::string prefix = request.getPrefix();
  const std::string after = request.getAfter();
  const std::size_t limit = std::clamp<std::size_t>(request.getLimit(), 1, most_rows);
  return Msg<msg::ControlPage>::build([&](msg::ControlPage::Builder to) {
    write_node(to);
    options_.table->read([&](const ActorTable& table) {
      const auto page = request.getEnded() ? table.list_ended(prefix, after, limit)
                                           : table.list(prefix, after, limit);
      auto rows = to.initActors(static_cast<unsigned>(page.entries.size()));
      for (unsigned i = 0; i < rows.size(); ++i) write_row(rows[i], *page.entries[i]);
      to.setNext(page.next);
    });
  });
}

Msg<msg::ControlDone> done(const std::string& what) {
  return Msg<msg::ControlDone>::build([&](msg::ControlDone::Builder b) { b.setWhat(what); });
}

caf::result<Msg<msg::ControlDone>> Control::kill(msg::ControlKill::Reader request) {
  const std::string path = request.getPath();
  const auto found = options_.table->read([&](const ActorTable& table) {
    const auto* entry = table.find(path);
    return entry == nullptr ? ActorEntry() : *entry;
  });
  if (found.seat.path.empty()) {
    return to_caf({ErrorCode::not_found, "no actor " + path.substr(0, longest_text)});
  }
  const auto owner = node_.resolve(found.life.owner);
  if (found.life.owner.actor == 0 || !owner) {
    return to_caf({ErrorCode::unavailable, path + " does not run now"});
  }
  const std::string by = request.getBy();
  const bool stop = request.getStop();
  self_->send(owner, EndChild{path,
                              (stop ? "troupe kill --stop by " : "troupe kill by ") +
                                  by.substr(0, longest_text),
                              stop, request.getTrace()});
  return done(stop ? "asked to stop" : "killed");
}

caf::result<Msg<msg::ControlDone>> Control::drain(msg::ControlDrain::Reader request) {
  if (!options_.drain) {
    return to_caf({ErrorCode::unavailable, node_.self().id.name + " cannot be drained"});
  }
  const LogScope scope("", request.getTrace());
  log_warn("drained on request of {}", std::string(request.getBy()).substr(0, longest_text));
  if (!std::exchange(draining_, true)) options_.drain();
  return done("draining");
}

template <class List>
void write_texts(List to, const std::vector<std::string>& texts) {
  for (unsigned i = 0; i < to.size(); ++i) to.set(i, texts[i]);
}

caf::result<Msg<msg::LogFiles>> Control::list_logs(msg::LogList::Reader request) const {
  const std::size_t limit = std::clamp<std::size_t>(request.getLimit(), 1, most_rows);
  const auto found = logs_.list(request.getPath(), request.getRun(), request.getAfter(), limit);
  if (!found) return to_caf(found.error());
  return Msg<msg::LogFiles>::build([&](msg::LogFiles::Builder to) {
    to.setStore(logs_.id());
    to.setJob(found->job);
    to.setRun(found->run);
    to.setNext(found->next);
    write_texts(to.initActors(static_cast<unsigned>(found->actors.size())), found->actors);
    write_texts(to.initJobs(static_cast<unsigned>(found->jobs.size())), found->jobs);
  });
}

caf::result<Msg<msg::LogPart>> Control::read_log(msg::LogRead::Reader request) const {
  const auto part = logs_.read(request.getActor(), request.getRun(), request.getOffset(),
                               request.getLimit(), request.getSinceMs());
  if (!part) return to_caf(part.error());
  return Msg<msg::LogPart>::build([&](msg::LogPart::Builder to) {
    to.setText(
        kj::arrayPtr(reinterpret_cast<const kj::byte*>(part->text.data()), part->text.size()));
    to.setNext(part->next);
    to.setSize(part->size);
  });
}

caf::behavior run(Self* self, Node* node, const std::shared_ptr<ControlOptions>& options) {
  keep_first_cause(*self);
  self->state = std::make_unique<Control>(self, *node, std::move(*options));
  auto& it = *self->state;
  return {
      [&it](const PeerUp& up) { it.on_up(up.peer); },
      [&it](const PeerDown& down) { it.on_down(down); },
      [](const ConnectFailed&) {},
      [&it](const Msg<msg::ControlList>& m) {
        return it.serve<msg::ControlPage>(m, &Control::list);
      },
      [&it](const Msg<msg::ControlKill>& m) {
        return it.serve<msg::ControlDone>(m, &Control::kill);
      },
      [&it](const Msg<msg::ControlDrain>& m) {
        return it.serve<msg::ControlDone>(m, &Control::drain);
      },
      [&it](const Msg<msg::LogList>& m) { return it.serve<msg::LogFiles>(m, &Control::list_logs); },
      [&it](const Msg<msg::LogRead>& m) { return it.serve<msg::LogPart>(m, &Control::read_log); }};
}

}  // namespace

void register_control_messages(ActorKinds& kinds) {
  auto& messages = kinds.messages();
  messages.add<msg::ControlList>();
  messages.add<msg::ControlPage>();
  messages.add<msg::ControlKill>();
  messages.add<msg::ControlDrain>();
  messages.add<msg::ControlDone>();
  messages.add<msg::LogList>();
  messages.add<msg::LogFiles>();
  messages.add<msg::LogRead>();
  messages.add<msg::LogPart>();
}

caf::actor spawn_control_actor(Node& node, ControlOptions options) {
  const auto control = node.system().spawn<caf::detached>(
      run, &node, std::make_shared<ControlOptions>(std::move(options)));
  node.offer(control_service, control);
  node.watch(control);
  return control;
}

}  // namespace troupe
