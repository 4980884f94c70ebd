// SPDX-License-Identifier: Apache-2.0
#include "gpu/easyscale/checkpoint/checkpoint_link.hpp"

#include "actors/core/kinds.hpp"
#include "actors/net/crypto.hpp"
#include "gpu/easyscale/checkpoint/folder_link.hpp"
#include "messages/reflect.hpp"

#include <capnp/dynamic.h>

#include <set>
#include <system_error>
#include <tuple>

namespace troupe::easyscale {
namespace {

namespace fs = std::filesystem;

fs::path made_absolute(const fs::path& path) {
  std::error_code error;
  auto whole = fs::absolute(path, error);
  return error ? path : whole;
}

// "/jobs/digits/trainers" -> "digits", "trainers"
std::pair<std::string, std::string> job_and_group(const std::string& path) {
  constexpr std::string_view jobs = "/jobs/";
  if (path.rfind(jobs, 0) != 0) return {"", path};
  const auto slash = path.find('/', jobs.size());
  if (slash == std::string::npos) return {path.substr(jobs.size()), ""};
  return {path.substr(jobs.size(), slash - jobs.size()), path.substr(slash + 1)};
}

// What else in a graph changes bits: all keys but those that are compared by themselves, and those
// that change nothing or may change. Only what is not the default, so that new keys make no
// difference.
std::string settings_of(capnp::DynamicStruct::Reader args) {
  static const std::set<std::string> others = {
      "program", "module",          "data",           "ranks",    "batch", "epochs",
      "device",  "checkpointEvery", "checkpointKeep", "hashEvery"};
  std::string text;
  for (const auto field : args.getSchema().getNonUnionFields()) {
    const std::string name = field.getProto().getName();
    if (others.count(name) > 0 || !args.has(field, capnp::HasMode::NON_DEFAULT)) continue;
    text += (text.empty() ? "" : ", ") + to_snake(name) + " = " + kj::str(args.get(field)).cStr();
  }
  return text;
}

void emit(const SpawnContext& context, Event event) {
  if (context.emit) context.emit(std::move(event));
}

Result<fs::path> find_resume(const SpawnContext& context, const JobIdentity& identity) {
  const fs::path root = made_absolute(context.resume);
  std::error_code ignored;
  const bool has_group = fs::is_directory(root / identity.group, ignored);
  const auto found = latest_checkpoint(has_group ? root / identity.group : root, &identity);
  if (!found) return fail_at("--resume", found.error());
  for (const Error& why : found->refused) {
    emit(context, {"checkpoint_refused", {{"why", why.what}}});
  }
  emit(context, {"resume",
                 {{"step", static_cast<std::int64_t>(found->manifest.step)},
                  {"folder", found->folder.string()}}});
  return found->folder;
}

}  // namespace

Result<CheckpointTerms> checkpoint_terms(const SpawnContext& context,
                                         msg::TrainerArgs::Reader args) {
  CheckpointTerms terms;
  terms.plan.folder = made_absolute(context.checkpoints);
  terms.plan.every = args.getCheckpointEvery();
  terms.plan.keep = args.getCheckpointKeep();
  terms.plan.hash_every = args.getHashEvery();
  std::tie(terms.job, terms.group) = job_and_group(context.path);
  terms.settings = settings_of(args);
  terms.program = args.getProgram().size() > 0 ? std::string(args.getProgram())
                                               : "module " + std::string(args.getModule());
  if (context.resume.empty()) return terms;
  const JobIdentity identity{terms.job,       terms.group,     terms.program, context.seed,
                             args.getRanks(), args.getBatch(), terms.settings};
  auto resume = find_resume(context, identity);
  if (!resume) return Failure(resume.error());
  terms.resume = std::move(*resume);
  return terms;
}

void write(const CheckpointTerms& terms, msg::TrainCheckpoints::Builder to) {
  to.setFolder(terms.plan.folder.string());
  to.setEvery(terms.plan.every);
  to.setKeep(terms.plan.keep);
  to.setHashEvery(terms.plan.hash_every);
  to.setJob(terms.job);
  to.setGroup(terms.group);
  to.setSettings(terms.settings);
  to.setProgram(terms.program);
  to.setResume(terms.resume.string());
}

CheckpointTerms read_terms(msg::TrainCheckpoints::Reader from) {
  CheckpointTerms terms;
  terms.plan = {std::string(from.getFolder()), from.getEvery(), from.getKeep(),
                from.getHashEvery()};
  terms.job = from.getJob();
  terms.group = from.getGroup();
  terms.settings = from.getSettings();
  terms.program = from.getProgram();
  terms.resume = std::string(from.getResume());
  return terms;
}

Msg<msg::TrainCheckpointed> to_message(const WroteCheckpoint& wrote,
                                       std::chrono::duration<double> stall) {
  return Msg<msg::TrainCheckpointed>::build([&](msg::TrainCheckpointed::Builder b) {
    b.setStep(wrote.step);
    b.setFolder(wrote.folder.string());
    b.setBytes(wrote.bytes);
    b.setSeconds(wrote.took.count());
    b.setStall(stall.count());
  });
}

Msg<msg::TrainCheckpointed> to_message(const MissedCheckpoint& missed) {
  return Msg<msg::TrainCheckpointed>::build([&](msg::TrainCheckpointed::Builder b) {
    b.setStep(missed.step);
    b.initMissed().setCode(static_cast<msg::ErrorCode>(missed.why.code));
    b.getMissed().setWhat(missed.why.what);
  });
}

Msg<msg::TrainHashes> to_message(const HashedState& hashed) {
  return Msg<msg::TrainHashes>::build([&](msg::TrainHashes::Builder b) {
    b.setStep(hashed.step);
    auto tensors = b.initTensors(static_cast<unsigned>(hashed.tensors.size()));
    for (unsigned i = 0; i < tensors.size(); ++i) {
      const HashedTensor& one = hashed.tensors[i];
      tensors[i].setName(one.name);
      tensors[i].setSha256(
          {reinterpret_cast<const kj::byte*>(one.sha256.data()), one.sha256.size()});
    }
  });
}

Event to_event(msg::TrainCheckpointed::Reader from) {
  const auto step = static_cast<std::int64_t>(from.getStep());
  if (from.hasMissed()) {
    return {"checkpoint_missed",
            {{"step", step}, {"why", std::string(from.getMissed().getWhat())}}};
  }
  return {"checkpoint",
          {{"step", step},
           {"folder", std::string(from.getFolder())},
           {"bytes", static_cast<std::int64_t>(from.getBytes())},
           {"seconds", from.getSeconds()},
           {"stall_s", from.getStall()}}};
}

Event to_event(msg::TrainHashes::Reader from) {
  std::string lines;
  for (const auto tensor : from.getTensors()) {
    const auto hash = tensor.getSha256();
    lines += std::string(tensor.getName()) + " " +
             to_hex({reinterpret_cast<const std::byte*>(hash.begin()), hash.size()}) + "\n";
  }
  return {"hashes",
          {{"step", static_cast<std::int64_t>(from.getStep())}, {"tensors", std::move(lines)}}};
}

}  // namespace troupe::easyscale
