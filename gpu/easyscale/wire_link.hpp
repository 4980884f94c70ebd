// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/core/message.hpp"
#include "actors/net/bulk/bulk_ref.hpp"
#include "gpu/easyscale/job/determinism.hpp"
#include "gpu/easyscale/job/job_state.hpp"
#include "gpu/easyscale/job/member_state.hpp"
#include "messages/easyscale.capnp.h"
#include "messages/ids.hpp"

#include <functional>
#include <optional>

namespace troupe {
class MessageTypes;
}

namespace troupe::easyscale {

/// Makes the protocol's messages known to a node.
void add_messages(MessageTypes& types);

// Values to messages. What a receiver knows better (who sent it) is not in them.

[[nodiscard]] Msg<msg::TrainerHello> to_message(const Hello& hello);
[[nodiscard]] Msg<msg::TrainerFailed> to_message(const Error& error);
/// `actor_of` writes where a member is.
[[nodiscard]] Msg<msg::TrainView> to_message(
    const View& view, const std::function<void(Member, msg::ActorRef::Builder)>& actor_of);
/// `bulk`: where the piece's bytes are to be had; none: in the message.
[[nodiscard]] Msg<msg::TrainPiece> to_message(const Piece& piece,
                                              const std::optional<BulkRef>& bulk);
[[nodiscard]] Msg<msg::TrainState> to_message(const act::SendState& act, const Slice& state,
                                              const std::optional<BulkRef>& bulk);
[[nodiscard]] Msg<msg::TrainReady> to_message(const act::SayReady& ready);
[[nodiscard]] Msg<msg::TrainHolds> to_message(const act::SayHolds& holds);
[[nodiscard]] Msg<msg::TrainCommit> to_message(const effect::SendCommit& commit);
[[nodiscard]] Msg<msg::TrainFault> to_message(const Fault& fault);

// And back. They throw kj::Exception where the bytes are no such message; whether the values make
// sense is for the state machines to say.

[[nodiscard]] Determinism to_determinism(msg::Determinism from);
[[nodiscard]] Hello to_hello(msg::TrainerHello::Reader from);
[[nodiscard]] Error to_error(msg::Error::Reader from);
[[nodiscard]] View to_view(msg::TrainView::Reader from);
[[nodiscard]] Piece to_piece(msg::TrainPiece::Reader from, Slice bytes);
[[nodiscard]] input::Ready to_ready(Member member, msg::TrainReady::Reader from);
[[nodiscard]] input::Holds to_holds(Member member, msg::TrainHolds::Reader from);
[[nodiscard]] Fault to_fault(msg::TrainFault::Reader from);

}  // namespace troupe::easyscale
