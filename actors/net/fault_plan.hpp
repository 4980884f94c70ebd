// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/frame.hpp"

#include <chrono>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace troupe {

/// Something that befalls the way from one node to another, both given by name, once `after` frames
/// have come along it.
struct FaultEvent {
  enum class Kind {
    cut,        ///< the connection is lost: each is down for the other
    partition,  ///< nothing passes from `from` to `to`; the other direction is another event
    heal,       ///< what a partition held back comes through
  };

  Kind kind = Kind::cut;
  std::uint64_t after = 0;
  std::string from;
  std::string to;

  friend bool operator==(const FaultEvent&, const FaultEvent&) = default;
};

/// What goes wrong in a network. Every decision about a frame follows from the seed, the names of
/// the two nodes and the number of frames that one has sent the other before; so equal plans and
/// equal orders of sends between two nodes give equal faults.
struct FaultPlan {
  std::uint64_t seed = 1;
  // Chances for each frame, 0 to 1.
  double delay = 0;      ///< it comes later, and so do those behind it
  double reorder = 0;    ///< it comes later, and those behind it do not wait
  double duplicate = 0;  ///< it comes twice
  double corrupt = 0;    ///< up to eight bytes of its header, body or blob are others
  double cut = 0;        ///< it is lost, and the connection with it
  double refuse = 0;     ///< a chance for each call: nobody answers it
  std::chrono::microseconds longest_delay{500};
  std::chrono::microseconds silence{20'000};  ///< after a partition of this length both are down
  std::uint32_t frames_per_s = 0;             ///< the most that a node is given, 0: no limit
  /// Receivers check order and integrity, as the transport between processes does: frames are put
  /// into order, duplicates are dropped, and a changed frame ends its connection. Otherwise a
  /// handler gets everything that could be a frame.
  bool checked = true;
  std::vector<FaultEvent> events;

  friend bool operator==(const FaultPlan&, const FaultPlan&) = default;
};

/// The plan in words, for the message of a failing test.
[[nodiscard]] std::string to_string(const FaultPlan& plan);

/// What has gone wrong so far, and what receivers have found out.
struct FaultCounts {
  std::uint64_t frames = 0;  ///< that came along any way
  std::uint64_t delayed = 0;
  std::uint64_t reordered = 0;
  std::uint64_t duplicated = 0;
  std::uint64_t corrupted = 0;
  std::uint64_t cut = 0;
  std::uint64_t refused_calls = 0;
  std::uint64_t dropped_duplicates = 0;
  std::uint64_t dropped_corrupt = 0;
};

/// A source of decisions that depends on the seed and a name alone, not on the standard library.
class Dice {
 public:
  Dice(std::uint64_t seed, const std::string& name);

  /// True with this chance.
  bool falls(double chance);
  /// 0 to limit - 1.
  std::uint64_t below(std::uint64_t limit) { return random_() % limit; }

 private:
  std::mt19937_64 random_;
};

/// Puts a sequence number and a checksum of it and the whole frame behind the blob, where the
/// transport between processes has an envelope with a MAC, and both lengths into the header.
[[nodiscard]] Frame seal(Frame frame, std::uint64_t sequence);
/// What stood behind the blob of a frame.
struct Seal {
  std::uint64_t sequence = 0;
  bool good = false;  ///< the checksum is right
};
/// Takes the seal off again.
[[nodiscard]] Seal unseal(Frame& frame);
/// Changes one to eight bytes of the header, the body or the blob of a sealed frame.
void damage(Frame& frame, Dice& dice);

}  // namespace troupe
