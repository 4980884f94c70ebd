// SPDX-License-Identifier: Apache-2.0
#include "gpu/easyscale/kinds.hpp"

#include "gpu/easyscale/coordinator_actor.hpp"
#include "gpu/easyscale/wire_link.hpp"

#include <string>

namespace troupe {
namespace {

constexpr std::uint32_t most_ranks = 4096;
constexpr std::uint32_t largest_batch = 1U << 20U;
constexpr std::uint32_t most_epochs = 1U << 20U;
constexpr std::uint32_t most_kept = 1'000'000;

Result<void> within(const char* key, std::uint32_t value, std::uint32_t most) {
  if (value >= 1 && value <= most) return {};
  return fail(ErrorCode::invalid_argument, std::string(key) + " must be 1 to " +
                                               std::to_string(most) + ", not " +
                                               std::to_string(value));
}

Result<void> check(capnp::DynamicStruct::Reader keys) {
  const auto args = keys.as<msg::TrainerArgs>();
  if (args.getProgram().size() == 0 && args.getModule().size() == 0) {
    return fail(ErrorCode::invalid_argument,
                "program must name a training program, such as digits, or module a file");
  }
  if (args.getProgram().size() > 0 && args.getModule().size() > 0) {
    return fail(ErrorCode::invalid_argument, "program and module exclude each other");
  }
  if (auto ok = within("ranks", args.getRanks(), most_ranks); !ok) return ok;
  if (auto ok = within("batch", args.getBatch(), largest_batch); !ok) return ok;
  if (auto ok = within("accumulate", args.getAccumulate(), largest_batch / args.getBatch()); !ok) {
    return ok;
  }
  if (args.getClipNorm() < 0) {
    return fail(ErrorCode::invalid_argument, "clip_norm must not be negative");
  }
  if (auto ok = within("checkpoint_keep", args.getCheckpointKeep(), most_kept); !ok) return ok;
  return within("epochs", args.getEpochs(), most_epochs);
}

std::vector<std::pair<std::string, std::string>> environment(capnp::AnyPointer::Reader args) {
  return easyscale::environment_for(
      easyscale::to_determinism(args.getAs<msg::TrainerArgs>().getDeterminism()));
}

Result<caf::actor> lead(const SpawnContext& context) {
  const auto args = context.args.getAs<msg::TrainerArgs>();
  auto faults = easyscale::parse_faults(context.faults, context.count);
  if (!faults) return Failure(faults.error());
  auto checkpoints = easyscale::checkpoint_terms(context, args);
  if (!checkpoints) return Failure(checkpoints.error());
  return easyscale::spawn_coordinator(
      context.node,
      {context.path,
       {context.count, args.getRanks(), args.getEpochs(), std::move(*faults), context.term},
       context.emit,
       easyscale::to_determinism(args.getDeterminism()),
       std::move(*checkpoints)});
}

}  // namespace

void register_easyscale(ActorKinds& kinds) {
  easyscale::add_messages(kinds.messages());
  kinds.add({.name = "easyscale.trainer",
             .program = "troupe-train",
             .args = capnp::Schema::from<msg::TrainerArgs>(),
             .check = check,
             .environment = environment,
             .lead = lead});
}

}  // namespace troupe
