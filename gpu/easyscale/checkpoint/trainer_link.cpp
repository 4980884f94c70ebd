// SPDX-License-Identifier: Apache-2.0
#include "gpu/easyscale/checkpoint/trainer_link.hpp"

#include "actors/base/log.hpp"
#include "gpu/easyscale/job/sampler.hpp"
#include "gpu/easyscale/match.hpp"

#include <caf/event_based_actor.hpp>

#include <utility>

namespace troupe::easyscale {
namespace {

Manifest describe(const CheckpointTerms& terms, const std::string& fingerprint,
                  const ReplicaOptions& options, const Replica& replica) {
  Manifest about;
  about.identity = {terms.job,     terms.group,   terms.program, options.seed,
                    options.ranks, options.batch, terms.settings};
  about.steps_per_epoch = replica.steps_per_epoch();
  about.steps = replica.steps();
  about.fingerprint = fingerprint;
  return about;
}

}  // namespace

TrainerCheckpoints::TrainerCheckpoints(const CheckpointTerms& terms, const std::string& fingerprint,
                                       const ReplicaOptions& options, Replica& replica,
                                       std::function<void()> news)
    : terms_(terms),
      about_(describe(terms, fingerprint, options, replica)),
      replica_(replica),
      writer_(terms.plan, about_, std::move(news)) {}

Result<void> TrainerCheckpoints::check_same_training(const Manifest& manifest) const {
  if (auto ok = check_same_job(about_.identity, manifest.identity); !ok) return ok;
  if (manifest.steps_per_epoch != about_.steps_per_epoch) {
    return fail(ErrorCode::invalid_argument,
                "its epochs have " + std::to_string(manifest.steps_per_epoch) +
                    " steps, and those of this job have " + std::to_string(about_.steps_per_epoch) +
                    ": the data set is another one");
  }
  if (manifest.step > about_.steps) {
    return fail(ErrorCode::invalid_argument,
                "it is of step " + std::to_string(manifest.step) + ", and the job has " +
                    std::to_string(about_.steps) + ": give it more epochs");
  }
  for (const RankRecord& record : manifest.rank_records) {
    if (record.generator_seed == rank_seed(about_.identity.seed, manifest.step, record.rank)) {
      continue;
    }
    return fail(ErrorCode::version_mismatch,
                "virtual rank " + std::to_string(record.rank) +
                    " would go on with other random numbers: Troupe " + manifest.version +
                    " wrote it, and this version draws them in another way");
  }
  if (manifest.fingerprint != about_.fingerprint) {
    log_warn(
        "the checkpoint was written where bits are computed in another way (\"{}\", here "
        "\"{}\"): from here on they are those of this machine",
        manifest.fingerprint, about_.fingerprint);
  }
  return {};
}

Result<std::optional<std::uint64_t>> TrainerCheckpoints::resume() {
  if (terms_.resume.empty()) return std::nullopt;
  const auto manifest = open_checkpoint(terms_.resume);
  if (!manifest) {
    if (manifest.error().code == ErrorCode::not_found) return std::nullopt;
    return Failure(manifest.error());
  }
  const std::string place = terms_.resume.string();
  if (auto ok = check_same_training(*manifest); !ok) return fail_at(place, ok.error());
  const auto state = load_checkpoint(terms_.resume, *manifest);
  if (!state) return Failure(state.error());
  if (auto ok = replica_.load(*state); !ok) return fail_at(place, ok.error());
  if (replica_.step() != manifest->step) {
    return fail_at(place, {ErrorCode::corrupt, "the state is not of the step that it says"});
  }
  return manifest->step;
}

void TrainerCheckpoints::keep(std::uint64_t step, const Slice& state) {
  const auto begin = std::chrono::steady_clock::now();
  auto layout = replica_.state_layout(state.bytes());
  if (!layout) {
    log_error("checkpoint of step {}: {}", step, layout.error().what);
    return;
  }
  writer_.offer(step, state, std::move(*layout));
  if (!terms_.plan.writes(step, about_.steps)) return;
  stalls_[step] = std::chrono::steady_clock::now() - begin;
}

void TrainerCheckpoints::send_news(caf::event_based_actor& self, const caf::actor& coordinator) {
  for (const CheckpointNews& news : writer_.take_news()) {
    std::visit(Match{[&](const WroteCheckpoint& wrote) {
                       self.send(coordinator, to_message(wrote, stalls_[wrote.step]));
                       stalls_.erase(stalls_.begin(), stalls_.upper_bound(wrote.step));
                     },
                     [&](const auto& other) { self.send(coordinator, to_message(other)); }},
               news);
  }
}

}  // namespace troupe::easyscale
