// SPDX-License-Identifier: Apache-2.0
#include "actors/core/membership/membership_wire.hpp"

#include "actors/core/supervise/placement.hpp"
#include "messages/wire_ids.hpp"

#include <algorithm>
#include <cmath>

namespace troupe {
namespace {

constexpr std::size_t max_host = 64;  // a numeric address with its interface
constexpr double max_cpus = 1e6;

template <class Wire, class Ours>
constexpr bool same(Wire wire, Ours ours) {
  return static_cast<int>(wire) == static_cast<int>(ours);
}
static_assert(same(msg::MemberState::ALIVE, MemberState::alive) &&
              same(msg::MemberState::SUSPECT, MemberState::suspect) &&
              same(msg::MemberState::LEAVING, MemberState::leaving) &&
              same(msg::MemberState::LEFT, MemberState::left) &&
              same(msg::MemberState::DOWN, MemberState::down));
static_assert(same(msg::MemberProbe::Kind::ASK, Probe::Kind::ask) &&
              same(msg::MemberProbe::Kind::PING, Probe::Kind::ping) &&
              same(msg::MemberProbe::Kind::PONG, Probe::Kind::pong) &&
              same(msg::MemberProbe::Kind::REACHED, Probe::Kind::reached));

Failure broken(const std::string& what) { return fail(ErrorCode::corrupt, what); }

bool is_printable(const std::string& text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < '\x7f'; });
}

Result<Gossip::Entry> read_entry(msg::MemberNews::Entry::Reader said) {
  Gossip::Entry entry{read_node(said.getNode()), read_address(said.getControl()), {}};
  if (!is_node_name(entry.id.name)) return broken("a member with a bad name");
  if (entry.control.host.empty() || entry.control.host.size() > max_host ||
      !is_printable(entry.control.host)) {
    return broken("a member with a bad address");
  }
  if (said.getState() > msg::MemberState::DOWN) return broken("a member in no known state");
  entry.state = static_cast<MemberState>(said.getState());
  return entry;
}

}  // namespace

Result<void> check_offer(const NodeOffer& offer) {
  if (offer.labels.size() > max_labels) {
    return fail(ErrorCode::invalid_argument,
                "a node has at most " + std::to_string(max_labels) + " labels");
  }
  for (const auto& label : offer.labels) {
    if (!is_label(label)) {
      return fail(ErrorCode::invalid_argument,
                  "'" + label.substr(0, longest_label) + "' is no label: " + label_rule);
    }
  }
  if (!std::isfinite(offer.cpus) || offer.cpus < 0 || offer.cpus > max_cpus) {
    return fail(ErrorCode::invalid_argument, "a number of processors that no machine has");
  }
  return {};
}

Msg<msg::MemberNews> to_message(const Gossip& gossip) {
  return Msg<msg::MemberNews>::build([&](msg::MemberNews::Builder news) {
    auto offer = news.initOffer();
    auto labels = offer.initLabels(static_cast<unsigned>(gossip.offer.labels.size()));
    for (unsigned i = 0; i < labels.size(); ++i) labels.set(i, gossip.offer.labels[i]);
    offer.setCpus(gossip.offer.cpus);
    offer.setMemory(gossip.offer.memory.count);
    news.setLeaving(gossip.leaving);
    auto members = news.initMembers(static_cast<unsigned>(gossip.members.size()));
    for (unsigned i = 0; i < members.size(); ++i) {
      const auto& entry = gossip.members[i];
      write_node(members[i].initNode(), entry.id);
      write_address(members[i].initControl(), entry.control);
      members[i].setState(static_cast<msg::MemberState>(entry.state));
    }
  });
}

Msg<msg::MemberProbe> to_message(const Probe& probe) {
  return Msg<msg::MemberProbe>::build([&](msg::MemberProbe::Builder builder) {
    builder.setKind(static_cast<msg::MemberProbe::Kind>(probe.kind));
    write_node(builder.initOrigin(), probe.origin);
    write_node(builder.initTarget(), probe.target);
  });
}

Result<Gossip> from_message(msg::MemberNews::Reader news) {
  Gossip gossip;
  const auto labels = news.getOffer().getLabels();
  if (labels.size() > max_labels) return broken("too many labels");
  for (const auto label : labels) gossip.offer.labels.emplace_back(label);
  gossip.offer.cpus = news.getOffer().getCpus();
  gossip.offer.memory.count = news.getOffer().getMemory();
  if (auto good = check_offer(gossip.offer); !good) return broken(good.error().what);
  gossip.leaving = news.getLeaving();
  const auto members = news.getMembers();
  if (members.size() > Gossip::max_entries) return broken("too many members at once");
  for (const auto said : members) {
    auto entry = read_entry(said);
    if (!entry) return Failure(entry.error());
    gossip.members.push_back(std::move(*entry));
  }
  return gossip;
}

Result<Probe> from_message(msg::MemberProbe::Reader said) {
  if (said.getKind() > msg::MemberProbe::Kind::REACHED) return broken("a probe of no known kind");
  Probe probe{static_cast<Probe::Kind>(said.getKind()), read_node(said.getOrigin()),
              read_node(said.getTarget())};
  if (!is_node_name(probe.origin.name) || !is_node_name(probe.target.name)) {
    return broken("a probe with a bad name");
  }
  return probe;
}

}  // namespace troupe
