// SPDX-License-Identifier: Apache-2.0
//
// After SWIM (Das, Gupta, Motivala: DSN 2002): suspicion before a declaration, indirect probes,
// views spread by gossip. Unlike there, everybody watches everybody, for members are connected to
// all others anyway; a declaration is local, and an incarnation cannot be defended, only replaced.
#include "actors/core/membership/membership_state.hpp"

#include <algorithm>
#include <utility>

namespace troupe {

MembershipState::MembershipState(Member self, bool joining, const std::vector<Address>& seeds,
                                 MembershipOptions options, std::uint64_t seed, TimePoint now)
    : self_(std::move(self)),
      joining_(joining || !seeds.empty()),
      options_(options),
      random_(seed),
      ticked_(now) {
  for (const auto& to : seeds) {
    if (to != self_.control) seeds_.push_back({to, now, options_.first_retry});
  }
}

std::vector<Member> MembershipState::members() const {
  std::vector<Member> all = {self_};
  for (const auto& [id, entry] : entries_) all.push_back(entry.member);
  return all;
}

const Member* MembershipState::find(const NodeId& id) const {
  if (id == self_.id) return &self_;
  const auto it = entries_.find(id);
  return it == entries_.end() ? nullptr : &it->second.member;
}

MembershipState::Entry* MembershipState::present(const NodeId& id) {
  const auto it = entries_.find(id);
  if (it == entries_.end() || !is_present(it->second.member.state)) return nullptr;
  return &it->second;
}

void MembershipState::change(Entry& entry, MemberState state, bool confirmed, std::string why) {
  auto& member = entry.member;
  if (member.state == state && member.confirmed == confirmed) return;
  member.state = state;
  member.confirmed = confirmed;
  member.why = std::move(why);
  ++version_;
  effects_.push_back(Changed{member});
}

void MembershipState::peer_up(const PeerInfo& peer, TimePoint now) {
  excuse_own_pause(now);
  if (over_ || !is_member(peer.role) || entries_.contains(peer.id)) return;
  if (name_is_taken(peer)) return;
  supersede(peer, now);
  contacts_.erase(peer.id);
  std::erase_if(seeds_, [&](const auto& seed) { return seed.to == peer.control; });
  Member member{peer.id, peer.control, peer.role, {}, MemberState::alive, false, {}};
  const auto& entry =
      entries_.emplace(peer.id, Entry{member, FailureDetector(options_.detector, now)})
          .first->second;
  joining_ = false;
  ++version_;
  effects_.push_back(Changed{entry.member});
}

/// Of two nodes of one name the one that is known already stays.
bool MembershipState::name_is_taken(const PeerInfo& peer) {
  const Member* holder = peer.id.name == self_.id.name && !joining_ ? &self_ : nullptr;
  for (const auto& [id, entry] : entries_) {
    const auto state = entry.member.state;
    const bool there = state == MemberState::alive || state == MemberState::leaving;
    if (id.name == peer.id.name && there) holder = &entry.member;
  }
  if (holder == nullptr) return false;
  effects_.push_back(Drop{peer.id,
                          {ErrorCode::already_exists,
                           "the name '" + peer.id.name + "' is taken by the node at " +
                               to_string(holder->control) + ": choose another with --name"}});
  return true;
}

/// Where a node listens, no other incarnation lives any more; nor does one of the same name that
/// has been silent.
void MembershipState::supersede(const PeerInfo& peer, TimePoint now) {
  for (auto& [id, entry] : entries_) {
    const bool same = id.name == peer.id.name || entry.member.control == peer.control;
    if (!same || entry.member.confirmed) continue;
    const auto why = "it was started again as " + to_string(peer.id);
    if (is_present(entry.member.state)) effects_.push_back(Drop{id, {ErrorCode::aborted, why}});
    change(entry, MemberState::down, true, why);
    entry.ended = now;
    contacts_.erase(id);
  }
}

void MembershipState::peer_down(const NodeId& id, const Error& why, TimePoint now) {
  excuse_own_pause(now);
  auto* known = present(id);
  if (over_ || known == nullptr) return;
  if (why.code == ErrorCode::already_exists) return end(why);
  auto& entry = *known;
  entry.ended = now;
  if (why.code == ErrorCode::not_found || entry.leaving) {
    return change(entry, MemberState::left, true, why.what);
  }
  change(entry, MemberState::down, false, why.what);
  if (why.code == ErrorCode::aborted) return disowned(id, true, now);
  // Silence gets no answer at once; a lost connection may get one.
  const auto wait = why.code == ErrorCode::timeout ? options_.first_retry * 4 : Millis(0);
  contacts_.insert_or_assign(id,
                             Contact{entry.member.control, now + wait, options_.first_retry * 4});
}

void MembershipState::connect_failed(const Address& to, const Error& why, TimePoint now) {
  excuse_own_pause(now);
  if (over_) return;
  std::vector<NodeId> called;
  for (const auto& [id, contact] : contacts_) {
    if (contact.to == to) called.push_back(id);
  }
  for (const auto& id : called) {
    const auto entry = entries_.find(id);
    if (entry != entries_.end() && why.code == ErrorCode::not_found) {
      change(entry->second, MemberState::down, true,
             entry->second.member.why + "; nothing listens at " + to_string(to) + " any more");
      contacts_.erase(id);
    } else if (entry != entries_.end() && why.code == ErrorCode::aborted) {
      disowned(id, false, now);
    } else if (why.code == ErrorCode::not_found) {
      auto& contact = contacts_.at(id);
      contact.due = now + (contact.gone ? options_.remember : contact.pause);
    }
  }
  if (why.code != ErrorCode::not_found || is_alone()) return;
  std::erase_if(seeds_, [&](const auto& seed) { return seed.to == to; });
}

bool MembershipState::is_alone() const {
  return std::none_of(entries_.begin(), entries_.end(),
                      [](const auto& entry) { return is_present(entry.second.member.state); });
}

void MembershipState::sign_of_life(const NodeId& id, TimePoint now) {
  excuse_own_pause(now);
  auto* entry = present(id);
  if (entry == nullptr) return;
  entry->detector.heard(now);
  if (entry->member.state == MemberState::suspect) alive_again(*entry);
}

void MembershipState::alive_again(Entry& entry) {
  change(entry, entry.leaving ? MemberState::leaving : MemberState::alive, false, {});
}

void MembershipState::hear(const NodeId& from, const Gossip& gossip, TimePoint now) {
  excuse_own_pause(now);
  auto* sender = present(from);
  if (over_ || sender == nullptr) return;
  sign_of_life(from, now);
  if (sender->member.offer != gossip.offer) {
    sender->member.offer = gossip.offer;
    effects_.push_back(Changed{sender->member});
  }
  if (gossip.leaving && !sender->leaving) {
    sender->leaving = true;
    change(*sender, MemberState::leaving, false, "it is being drained");
  }
  if (!is_member(self_.role) || self_.state == MemberState::leaving) return;
  const auto count = std::min(gossip.members.size(), Gossip::max_entries);
  for (std::size_t i = 0; i < count; ++i) hear_of(gossip.members[i], now);
}

void MembershipState::hear_of(const Gossip::Entry& heard, TimePoint now) {
  if (heard.id.name == self_.id.name || !is_node_name(heard.id.name)) return;
  if (heard.control.port == 0 || heard.control == self_.control) return;
  const auto known = entries_.find(heard.id);
  const bool gone = heard.state == MemberState::down || heard.state == MemberState::left;
  if (known != entries_.end()) {
    auto& entry = known->second;
    if (gone && entry.member.state == MemberState::suspect) {
      declare_down(entry, "silent, and down for others too", now);
    }
    return;
  }
  if (heard.state == MemberState::left) {
    contacts_.erase(heard.id);
    return;
  }
  if (contacts_.size() + entries_.size() >= options_.max_known) return;
  // Both sides may hear of each other at once: the smaller one calls first.
  auto wait = self_.id < heard.id ? Millis(0) : options_.first_retry;
  if (gone) wait = options_.first_retry * 8;  // down for others, but perhaps not for us
  contacts_.try_emplace(heard.id, Contact{heard.control, now + wait, options_.first_retry, gone});
}

void MembershipState::hear(const NodeId& from, const Probe& probe, TimePoint now) {
  excuse_own_pause(now);
  if (over_ || present(from) == nullptr) return;
  switch (probe.kind) {
    case Probe::Kind::ask:
      if (present(probe.target) != nullptr && probe.origin == from) {
        send(probe.target, {Probe::Kind::ping, probe.origin, probe.target});
      }
      return;
    case Probe::Kind::ping:
      if (probe.target != self_.id) return;
      return send(from, {Probe::Kind::pong, probe.origin, probe.target});
    case Probe::Kind::pong:
      if (probe.target != from) return;
      sign_of_life(from, now);
      if (probe.origin == self_.id || present(probe.origin) == nullptr) return;
      return send(probe.origin, {Probe::Kind::reached, probe.origin, probe.target});
    case Probe::Kind::reached:
      auto* entry = present(probe.target);
      if (entry != nullptr && probe.origin == self_.id) entry->reached = now;
      return;
  }
}

void MembershipState::tick(TimePoint now) {
  excuse_own_pause(now);
  forget_old(now);
  if (over_ || !is_member(self_.role)) return;
  for (auto& [id, entry] : entries_) {
    if (is_present(entry.member.state)) watch(entry, now);
  }
  for (auto& [id, entry] : entries_) {
    if (is_present(entry.member.state)) tell(entry, now);
  }
  if (self_.state != MemberState::leaving) call_contacts(now);
}

void MembershipState::excuse_own_pause(TimePoint now) {
  const auto pause = now - std::exchange(ticked_, std::max(ticked_, now));
  if (pause <= options_.own_pause) return;
  for (auto& [id, entry] : entries_) {
    entry.detector.excuse(pause);
    entry.suspected += pause;
    entry.asked += pause;
  }
}

void MembershipState::watch(Entry& entry, TimePoint now) {
  if (entry.member.state != MemberState::suspect) {
    if (entry.detector.suspects(now)) suspect(entry, now);
    return;
  }
  if (now - entry.asked < options_.probe_time) return;
  const auto silent = std::chrono::duration<double>(entry.detector.silence(now)).count();
  const auto tenths = std::to_string(static_cast<int>(silent * 10));
  const auto seconds = tenths.substr(0, tenths.size() - 1) + "." + tenths.back() + " s";
  if (entry.reached < entry.asked) {
    return declare_down(entry, "no sign of life for " + seconds + ", nor did others reach it", now);
  }
  if (now - entry.suspected >= options_.probe_limit) {
    return declare_down(entry, "no sign of life for " + seconds + "; only others reach it", now);
  }
  ask_for(entry, now);
}

void MembershipState::suspect(Entry& entry, TimePoint now) {
  change(entry, MemberState::suspect, false, "no sign of life; others are being asked");
  entry.suspected = now;
  ask_for(entry, now);
}

void MembershipState::ask_for(Entry& entry, TimePoint now) {
  entry.asked = now;
  const auto& target = entry.member.id;
  send(target, {Probe::Kind::ping, self_.id, target});
  std::vector<NodeId> others;
  for (const auto& [id, other] : entries_) {
    if (id != target && other.member.state == MemberState::alive) others.push_back(id);
  }
  // A shuffle that is the same with every standard library.
  for (std::size_t i = others.size(); i > 1; --i) std::swap(others[i - 1], others[random_() % i]);
  others.resize(std::min(others.size(), options_.probe_peers));
  for (const auto& other : others) send(other, {Probe::Kind::ask, self_.id, target});
}

void MembershipState::declare_down(Entry& entry, const std::string& why, TimePoint now) {
  const auto& id = entry.member.id;
  change(entry, MemberState::down, false, why);
  entry.ended = now;
  effects_.push_back(Drop{
      id,
      {ErrorCode::aborted,
       "node " + to_string(self_.id) + " has declared node " + to_string(id) + " dead: " + why}});
  const auto first = options_.first_retry * 4;
  contacts_.insert_or_assign(id, Contact{entry.member.control, now + first, first});
}

void MembershipState::disowned(const NodeId& by, bool by_goodbye, TimePoint now) {
  if (!is_member(self_.role)) return;
  auto& entry = entries_.at(by);
  if (!entry.disowned) entry.disowned = now;
  const auto first = options_.first_retry * 4;
  contacts_.try_emplace(by, Contact{entry.member.control, now + first, first});
  if (!should_yield(entry, by_goodbye, now)) return;
  end({ErrorCode::aborted, "node " + to_string(by) +
                               " lives and holds this one dead; it goes on as a new incarnation"});
}

bool MembershipState::should_yield(const Entry& by, bool by_goodbye, TimePoint now) const {
  std::size_t here = 1;
  std::size_t lost = 0;
  NodeId smallest_here = self_.id;
  NodeId smallest_lost = by.member.id;
  for (const auto& [id, entry] : entries_) {
    if (is_present(entry.member.state)) {
      ++here;
      smallest_here = std::min(smallest_here, id);
    } else if (entry.member.state == MemberState::down && !entry.member.confirmed) {
      ++lost;
      smallest_lost = std::min(smallest_lost, id);
    }
  }
  // Both may see themselves on the side that stays.
  if (now - *by.disowned >= options_.patience && by.member.id < self_.id) return true;
  if (here != lost) return here < lost;
  return by_goodbye || smallest_lost < smallest_here;
}

Gossip MembershipState::view() {
  Gossip gossip{self_.offer, self_.state == MemberState::leaving, {}};
  std::vector<Gossip::Entry> all;
  for (const auto& [id, entry] : entries_) {
    all.push_back({id, entry.member.control, entry.member.state});
  }
  const auto count = std::min(all.size(), Gossip::max_entries);
  for (std::size_t i = 0; i < count; ++i) {
    gossip.members.push_back(all[(next_entry_ + i) % all.size()]);
  }
  if (count < all.size()) next_entry_ = (next_entry_ + count) % all.size();
  return gossip;
}

void MembershipState::tell(Entry& entry, TimePoint now) {
  if (entry.told_version == version_ && now - entry.told < options_.gossip_every) return;
  entry.told_version = version_;
  entry.told = now;
  effects_.push_back(Send{entry.member.id, view()});
}

void MembershipState::call_contacts(TimePoint now) {
  for (auto& [id, contact] : contacts_) call(contact, now);
  for (auto& seed : seeds_) call(seed, now);
  if (now < lonely_call_ || !is_alone()) return;
  lonely_call_ = now + options_.last_retry;
  for (const auto& [id, entry] : entries_) {
    if (!contacts_.contains(id)) effects_.push_back(Dial{entry.member.control});
  }
}

void MembershipState::call(Contact& contact, TimePoint now) {
  if (now < contact.due) return;
  contact.due = now + contact.pause;
  contact.pause = std::min(contact.pause * 2, options_.last_retry);
  effects_.push_back(Dial{contact.to});
}

void MembershipState::forget_old(TimePoint now) {
  std::erase_if(entries_, [&](const auto& known) {
    const auto& [id, entry] = known;
    if (is_present(entry.member.state) || now - entry.ended < options_.remember) return false;
    // Who may still live is called again, but not for ever.
    if (contacts_.contains(id) && now - entry.ended < options_.give_up) return false;
    contacts_.erase(id);
    return true;
  });
}

void MembershipState::leave() {
  if (over_ || self_.state == MemberState::leaving) return;
  self_.state = MemberState::leaving;
  ++version_;
  effects_.push_back(Changed{self_});
  if (!is_member(self_.role)) return;
  for (auto& [id, entry] : entries_) {
    if (is_present(entry.member.state)) effects_.push_back(Send{id, view()});
  }
}

void MembershipState::end(Error why) {
  over_ = true;
  effects_.push_back(End{std::move(why)});
}

}  // namespace troupe
