// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/core/membership/membership_state.hpp"
#include "actors/core/message.hpp"
#include "messages/membership.capnp.h"
#include "messages/result.hpp"

namespace troupe {

// Membership's values as messages. What comes in is checked: counts, lengths, names and numbers.

[[nodiscard]] Msg<msg::MemberNews> to_message(const Gossip& gossip);
[[nodiscard]] Msg<msg::MemberProbe> to_message(const Probe& probe);

/// Errors (corrupt): more than Gossip allows, a name or a number that no node has.
[[nodiscard]] Result<Gossip> from_message(msg::MemberNews::Reader news);
[[nodiscard]] Result<Probe> from_message(msg::MemberProbe::Reader probe);

/// What is wrong with an offer, for those who make one and those who are told one.
[[nodiscard]] Result<void> check_offer(const NodeOffer& offer);

}  // namespace troupe
