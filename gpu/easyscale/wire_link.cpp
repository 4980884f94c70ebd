// SPDX-License-Identifier: Apache-2.0
#include "gpu/easyscale/wire_link.hpp"

#include "actors/core/message_types.hpp"
#include "messages/wire_ids.hpp"

namespace troupe::easyscale {

void add_messages(MessageTypes& types) {
  types.add<msg::TrainerAttach>();
  types.add<msg::TrainerHello>();
  types.add<msg::TrainerFailed>();
  types.add<msg::TrainView>();
  types.add<msg::TrainState>();
  types.add<msg::TrainPiece>();
  types.add<msg::TrainReady>();
  types.add<msg::TrainCommit>();
  types.add<msg::TrainHolds>();
  types.add<msg::TrainFault>();
  types.add<msg::TrainAsk>();
  types.add<msg::TrainEvaluated>();
  types.add<msg::TrainHash>();
  types.add<msg::TrainCheckpointed>();
  types.add<msg::TrainHashes>();
}

Msg<msg::TrainerHello> to_message(const Hello& hello) {
  return Msg<msg::TrainerHello>::build([&](msg::TrainerHello::Builder b) {
    b.setStepsPerEpoch(hello.steps_per_epoch);
    b.setGradient(hello.gradient);
    b.setBuffers(hello.buffers);
    b.setContext(hello.context);
    b.setFingerprint(hello.fingerprint);
    b.setModel(hello.model);
    b.setCosts(hello.costs);
    b.setResumes(hello.resume.has_value());
    b.setResume(hello.resume.value_or(0));
  });
}

Determinism to_determinism(msg::Determinism from) {
  switch (from) {
    case msg::Determinism::D0:
      return Determinism::d0;
    case msg::Determinism::D2:
      return Determinism::d2;
    case msg::Determinism::D1:
      break;
  }
  return Determinism::d1;
}

Hello to_hello(msg::TrainerHello::Reader from) {
  Hello hello{from.getStepsPerEpoch(), from.getGradient(),    from.getBuffers(),
              from.getContext(),       from.getFingerprint(), std::nullopt};
  hello.model = from.getModel();
  hello.costs = from.getCosts();
  if (from.getResumes()) hello.resume = from.getResume();
  return hello;
}

Msg<msg::TrainerFailed> to_message(const Error& error) {
  return Msg<msg::TrainerFailed>::build([&](msg::TrainerFailed::Builder b) {
    auto to = b.initError();
    to.setCode(static_cast<msg::ErrorCode>(error.code));
    to.setWhat(error.what);
  });
}

Error to_error(msg::Error::Reader from) {
  return {static_cast<ErrorCode>(from.getCode()), from.getWhat()};
}

Msg<msg::TrainView> to_message(
    const View& view, const std::function<void(Member, msg::ActorRef::Builder)>& actor_of) {
  return Msg<msg::TrainView>::build([&](msg::TrainView::Builder b) {
    b.setGeneration(view.generation);
    b.setStep(view.step);
    b.setDonor(view.donor);
    auto seats = b.initSeats(static_cast<unsigned>(view.members.size()));
    for (unsigned i = 0; i < seats.size(); ++i) {
      const Member member = view.members[i];
      seats[i].setMember(member);
      actor_of(member, seats[i].initActor());
      seats[i].setFirstRank(view.ranges[i].first);
      seats[i].setRanks(view.ranges[i].count);
      seats[i].setJoins(view.joins(member));
    }
  });
}

View to_view(msg::TrainView::Reader from) {
  View view;
  view.generation = from.getGeneration();
  view.step = from.getStep();
  view.donor = from.getDonor();
  for (const auto seat : from.getSeats()) {
    view.members.push_back(seat.getMember());
    view.ranges.push_back({seat.getFirstRank(), seat.getRanks()});
    if (seat.getJoins()) view.joiners.push_back(seat.getMember());
  }
  return view;
}

Msg<msg::TrainPiece> to_message(const Piece& piece, const std::optional<BulkRef>& bulk) {
  return Msg<msg::TrainPiece>::build(
      [&](msg::TrainPiece::Builder b) {
        b.setKind(static_cast<std::uint8_t>(piece.kind));
        b.setGeneration(piece.generation);
        b.setStep(piece.step);
        b.setFrom(piece.from);
        b.setLevel(piece.node.level);
        b.setIndex(piece.node.index);
        if (bulk) write_bulk_ref(b.initBulk(), *bulk);
      },
      bulk ? Slice() : piece.bytes);
}

Msg<msg::TrainState> to_message(const act::SendState& act, const Slice& state,
                                const std::optional<BulkRef>& bulk) {
  return Msg<msg::TrainState>::build(
      [&](msg::TrainState::Builder b) {
        b.setGeneration(act.generation);
        b.setStep(act.step);
        if (bulk) write_bulk_ref(b.initBulk(), *bulk);
      },
      bulk ? Slice() : state);
}

Piece to_piece(msg::TrainPiece::Reader from, Slice bytes) {
  return {
      static_cast<PieceKind>(from.getKind()), from.getGeneration(), from.getStep(), from.getFrom(),
      {from.getLevel(), from.getIndex()},     std::move(bytes)};
}

Msg<msg::TrainReady> to_message(const act::SayReady& ready) {
  return Msg<msg::TrainReady>::build([&](msg::TrainReady::Builder b) {
    b.setGeneration(ready.generation);
    b.setStep(ready.step);
    auto ranks = b.initRanks(static_cast<unsigned>(ready.ranks.size()));
    for (unsigned i = 0; i < ranks.size(); ++i) {
      ranks[i].setRank(ready.ranks[i].rank);
      ranks[i].setLoss(ready.ranks[i].loss);
      ranks[i].setCorrect(ready.ranks[i].correct);
      ranks[i].setCounted(ready.ranks[i].counted);
    }
  });
}

input::Ready to_ready(Member member, msg::TrainReady::Reader from) {
  input::Ready ready{member, from.getGeneration(), from.getStep(), {}};
  for (const auto rank : from.getRanks()) {
    ready.ranks.push_back({rank.getRank(), rank.getLoss(), rank.getCorrect(), rank.getCounted()});
  }
  return ready;
}

Msg<msg::TrainHolds> to_message(const act::SayHolds& holds) {
  return Msg<msg::TrainHolds>::build([&](msg::TrainHolds::Builder b) {
    b.setGeneration(holds.generation);
    b.setHolds(holds.step.has_value());
    b.setStep(holds.step.value_or(0));
  });
}

input::Holds to_holds(Member member, msg::TrainHolds::Reader from) {
  input::Holds holds{member, from.getGeneration(), std::nullopt};
  if (from.getHolds()) holds.step = from.getStep();
  return holds;
}

Msg<msg::TrainCommit> to_message(const effect::SendCommit& commit) {
  return Msg<msg::TrainCommit>::build([&](msg::TrainCommit::Builder b) {
    b.setGeneration(commit.generation);
    b.setStep(commit.step);
    b.setViewFollows(commit.view_follows);
  });
}

Msg<msg::TrainFault> to_message(const Fault& fault) {
  return Msg<msg::TrainFault>::build([&](msg::TrainFault::Builder b) {
    b.setStep(fault.step);
    b.setPhase(static_cast<std::uint8_t>(fault.phase));
  });
}

Fault to_fault(msg::TrainFault::Reader from) {
  return {from.getStep(), static_cast<FaultPhase>(from.getPhase()), 0};
}

}  // namespace troupe::easyscale
