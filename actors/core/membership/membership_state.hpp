// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/core/membership/failure_detector.hpp"
#include "actors/core/membership/member.hpp"
#include "messages/result.hpp"

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <variant>
#include <vector>

namespace troupe {

struct MembershipOptions {
  DetectorOptions detector;
  Millis probe_time{1000};      ///< a suspect and those who are asked for it have so long to answer
  Millis probe_limit{15000};    ///< a suspect that only others reach is given up after that
  std::size_t probe_peers = 3;  ///< how many are asked for a suspect
  Millis gossip_every{2000};    ///< besides at once when something has changed
  Millis own_pause{1000};       ///< between two ticks: then this node itself did not run
  Millis first_retry{500};      ///< calls to a node that others have told of, doubling up to
  Millis last_retry{15000};
  Millis patience{20000};        ///< see MembershipState, "Who yields"
  Millis remember{600'000};      ///< how long the end of a member is shown
  Millis give_up{86'400'000};    ///< how long one that may still live is called again
  std::size_t max_known = 1024;  ///< members and nodes heard of
};

/// What members tell each other of themselves and of the others, of bounded size.
struct Gossip {
  static constexpr std::size_t max_entries = 256;

  struct Entry {
    NodeId id;
    Address control;
    MemberState state = MemberState::alive;

    friend bool operator==(const Entry&, const Entry&) = default;
  };
  NodeOffer offer;  ///< the sender's
  bool leaving = false;
  std::vector<Entry> members;  ///< as the sender sees them

  friend bool operator==(const Gossip&, const Gossip&) = default;
};

/// A question about a silent member and its answers: `origin` asks others (ask), they and it ask
/// the target (ping), whose answer (pong) they hand on (reached). Nobody keeps anything of it.
struct Probe {
  enum class Kind : std::uint8_t { ask, ping, pong, reached };

  Kind kind = Kind::ask;
  NodeId origin;
  NodeId target;

  friend bool operator==(const Probe&, const Probe&) = default;
};

/// Who belongs to the cluster, as one node sees it. A state machine: events are calls, what is to
/// be done about them is collected until take_effects(); time and the seed are parameters.
///
/// Silence: a member whose signs of life stay out (FailureDetector) is suspected; it and others are
/// asked; if it is not heard of within probe_time it is declared down: dropped, told so, and never
/// taken back in this incarnation. An end that is certain (goodbye, a lost connection) acts at
/// once; a lost connection is called back at once to see whether the process has ended.
///
/// Gossip: members tell each other whom they see. What is heard only leads to a call: nobody is a
/// member here before it has shaken hands with this node itself. So that a cluster never stays in
/// parts, those who are down for others are called too, a new incarnation calls all whom the one
/// before it knew (`seeds`), and whoever is alone calls where anybody has been.
///
/// Who yields: a connection that is lost is never mended, so two living nodes may hold each other
/// dead (a healed partition, a node that was stopped). Both learn of it when they call each other,
/// the declared node also by the goodbye; then one side must go on as a new incarnation: the one
/// that sees fewer of all members of before, or in a tie the side without the smallest id (who was
/// told by a goodbye yields at once). Where views differ so that neither yields, the node with the
/// greater id does after `patience`. Who may act meanwhile is decided by leases, not here.
class MembershipState {
 public:
  using Clock = FailureDetector::Clock;
  using TimePoint = Clock::time_point;

  struct Dial {
    Address to;
  };
  struct Drop {
    NodeId id;
    Error why;
  };
  struct Send {
    NodeId to;
    std::variant<Gossip, Probe> what;
  };
  struct Changed {
    Member member;
  };
  /// This incarnation must end. aborted: it was declared dead, and may go on as a new one;
  /// already_exists: its name is taken.
  struct End {
    Error why;
  };
  using Effect = std::variant<Dial, Drop, Send, Changed, End>;

  /// `self` as its transport knows it. `joining`: it is about to join others, whose members keep
  /// their names where it has the same one. `seeds`: where members may listen; they are called
  /// until they answer.
  MembershipState(Member self, bool joining, const std::vector<Address>& seeds,
                  MembershipOptions options, std::uint64_t seed, TimePoint now);

  // What the transport reports.
  void peer_up(const PeerInfo& peer, TimePoint now);
  void peer_down(const NodeId& id, const Error& why, TimePoint now);
  void connect_failed(const Address& to, const Error& why, TimePoint now);
  void sign_of_life(const NodeId& id, TimePoint now);
  // What other members say.
  void hear(const NodeId& from, const Gossip& gossip, TimePoint now);
  void hear(const NodeId& from, const Probe& probe, TimePoint now);
  /// Some time has passed; expected several times a second.
  void tick(TimePoint now);
  /// This node is about to end; the others are told.
  void leave();

  [[nodiscard]] std::vector<Effect> take_effects() { return std::exchange(effects_, {}); }

  [[nodiscard]] const Member& self() const { return self_; }
  /// All that are or were members lately, this node first.
  [[nodiscard]] std::vector<Member> members() const;
  [[nodiscard]] const Member* find(const NodeId& id) const;

 private:
  struct Entry {
    Member member;
    FailureDetector detector;
    bool leaving = false;
    TimePoint suspected{};
    TimePoint reached{};             ///< by others, while it is suspected
    TimePoint asked{};               ///< others for it, the last time
    std::uint64_t told_version = 0;  ///< of our view, the last that it was told
    TimePoint told{};
    TimePoint ended{};
    std::optional<TimePoint> disowned = {};  ///< since when it is known to live and hold us dead
  };
  /// Somebody who is to be called.
  struct Contact {
    Address to;
    TimePoint due;
    Millis pause;
    bool gone = false;  ///< down for whoever has told of it
  };

  void change(Entry& entry, MemberState state, bool confirmed, std::string why);
  void supersede(const PeerInfo& peer, TimePoint now);
  [[nodiscard]] bool name_is_taken(const PeerInfo& peer);
  void hear_of(const Gossip::Entry& entry, TimePoint now);
  void alive_again(Entry& entry);
  void suspect(Entry& entry, TimePoint now);
  void watch(Entry& entry, TimePoint now);
  void ask_for(Entry& entry, TimePoint now);
  void declare_down(Entry& entry, const std::string& why, TimePoint now);
  void disowned(const NodeId& by, bool by_goodbye, TimePoint now);
  [[nodiscard]] bool should_yield(const Entry& by, bool by_goodbye, TimePoint now) const;
  void excuse_own_pause(TimePoint now);
  void tell(Entry& entry, TimePoint now);
  [[nodiscard]] Gossip view();
  [[nodiscard]] bool is_alone() const;
  void call(Contact& contact, TimePoint now);
  void call_contacts(TimePoint now);
  void forget_old(TimePoint now);
  void end(Error why);
  [[nodiscard]] Entry* present(const NodeId& id);
  void send(const NodeId& to, Probe probe) { effects_.push_back(Send{to, std::move(probe)}); }

  Member self_;
  bool joining_;
  bool over_ = false;
  MembershipOptions options_;
  std::mt19937_64 random_;
  TimePoint ticked_;
  std::uint64_t version_ = 1;   ///< of the view: others are told when it changes
  std::size_t next_entry_ = 0;  ///< where the next view begins that does not hold all
  std::map<NodeId, Entry> entries_;
  std::map<NodeId, Contact> contacts_;
  std::vector<Contact> seeds_;
  TimePoint lonely_call_{};  ///< the next, as long as it is alone
  std::vector<Effect> effects_;
};

}  // namespace troupe
