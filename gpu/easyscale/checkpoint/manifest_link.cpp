// SPDX-License-Identifier: Apache-2.0
#include "gpu/easyscale/checkpoint/manifest_link.hpp"

#include "actors/net/crypto.hpp"
#include "messages/checkpoint.capnp.h"

#include <capnp/message.h>
#include <capnp/serialize.h>
#include <kj/exception.h>

#include <algorithm>
#include <cstring>

namespace troupe::easyscale {
namespace {

constexpr const char* format_name = "troupe checkpoint";

Failure damaged(const std::string& what) { return fail(ErrorCode::corrupt, "manifest: " + what); }

kj::Array<capnp::word> words_of(capnp::MessageBuilder& message) {
  return capnp::messageToFlatArray(message);
}

std::string_view text_of(const kj::Array<capnp::word>& words) {
  const auto chars = words.asChars();
  return {chars.begin(), chars.size()};
}

capnp::Data::Reader data_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const kj::byte*>(bytes.data()), bytes.size()};
}

Result<TensorHash> hash_of(capnp::Data::Reader data) {
  TensorHash hash;
  if (data.size() != hash.size()) return damaged("a hash of another length");
  std::memcpy(hash.data(), data.begin(), hash.size());
  return hash;
}

void write_lists(const Manifest& manifest, msg::CheckpointManifest::Builder to) {
  auto files = to.initFiles(static_cast<unsigned>(manifest.files.size()));
  for (unsigned i = 0; i < files.size(); ++i) {
    files[i].setName(manifest.files[i].name);
    files[i].setSize(manifest.files[i].size);
  }
  auto tensors = to.initTensors(static_cast<unsigned>(manifest.tensors.size()));
  for (unsigned i = 0; i < tensors.size(); ++i) {
    const TensorRecord& from = manifest.tensors[i];
    tensors[i].setName(from.info.name);
    tensors[i].setDtype(std::string(name_of(from.info.dtype)));
    auto shape = tensors[i].initShape(static_cast<unsigned>(from.info.shape.size()));
    for (unsigned j = 0; j < shape.size(); ++j) shape.set(j, from.info.shape[j]);
    tensors[i].setOffset(from.offset);
    tensors[i].setFile(from.file);
    tensors[i].setSha256(data_of(from.sha256));
  }
  auto ranks = to.initRankRecords(static_cast<unsigned>(manifest.rank_records.size()));
  for (unsigned i = 0; i < ranks.size(); ++i) {
    ranks[i].setRank(manifest.rank_records[i].rank);
    ranks[i].setGeneratorSeed(manifest.rank_records[i].generator_seed);
  }
}

Result<void> read_tensors(msg::CheckpointManifest::Reader from, Manifest& manifest) {
  if (from.getTensors().size() > most_tensors) return damaged("it lists too many tensors");
  for (const auto tensor : from.getTensors()) {
    TensorRecord record;
    record.info.name = tensor.getName();
    const auto dtype = dtype_named(std::string(tensor.getDtype()));
    if (!dtype) return damaged("tensor " + record.info.name + " has a dtype that is not known");
    record.info.dtype = *dtype;
    if (tensor.getShape().size() > most_dimensions) {
      return damaged("tensor " + record.info.name + " has too many dimensions");
    }
    for (const auto length : tensor.getShape()) record.info.shape.push_back(length);
    record.offset = tensor.getOffset();
    record.file = tensor.getFile();
    const auto hash = hash_of(tensor.getSha256());
    if (!hash) return Failure(hash.error());
    record.sha256 = *hash;
    manifest.tensors.push_back(std::move(record));
  }
  return {};
}

Result<Manifest> read_manifest(msg::CheckpointManifest::Reader from, std::string version) {
  Manifest manifest;
  manifest.identity = {from.getJob(),   from.getGroup(), from.getTrainProgram(), from.getSeed(),
                       from.getRanks(), from.getBatch(), from.getSettings()};
  manifest.step = from.getStep();
  manifest.steps_per_epoch = from.getStepsPerEpoch();
  manifest.steps = from.getSteps();
  manifest.optimizer = from.getOptimizer();
  manifest.fingerprint = from.getFingerprint();
  manifest.version = std::move(version);
  manifest.block_size = from.getBlockSize();
  for (const auto file : from.getFiles()) {
    manifest.files.push_back({file.getName(), file.getSize()});
  }
  for (const auto rank : from.getRankRecords()) {
    manifest.rank_records.push_back({rank.getRank(), rank.getGeneratorSeed()});
  }
  if (auto ok = read_tensors(from, manifest); !ok) return Failure(ok.error());
  if (auto ok = check(manifest); !ok) return Failure(ok.error());
  return manifest;
}

// The message that starts here, and the words after it.
Result<Manifest> read_all_of(kj::ArrayPtr<const capnp::word> words) {
  capnp::ReaderOptions limits;
  limits.traversalLimitInWords = most_manifest_bytes / sizeof(capnp::word) * 2;
  limits.nestingLimit = 8;
  capnp::FlatArrayMessageReader first(words, limits);
  const auto header = first.getRoot<msg::CheckpointHeader>();
  if (header.getFormat() != format_name) return damaged("it is none of a checkpoint");
  if (header.getVersion() == 0 || header.getVersion() > manifest_version) {
    return fail(ErrorCode::version_mismatch,
                "manifest: format version " + std::to_string(header.getVersion()) +
                    ", written by Troupe " + std::string(header.getProgram()) +
                    "; this program reads up to version " + std::to_string(manifest_version));
  }
  const kj::ArrayPtr<const capnp::word> rest(first.getEnd(), words.end());
  const auto bytes = rest.asBytes();
  if (header.getSize() != bytes.size()) {
    return damaged("it has " + std::to_string(bytes.size()) + " bytes, and its header says " +
                   std::to_string(header.getSize()));
  }
  Sha256 sha256;
  sha256.update({reinterpret_cast<const std::byte*>(bytes.begin()), bytes.size()});
  const auto expected = hash_of(header.getSha256());
  if (!expected) return Failure(expected.error());
  if (sha256.digest() != *expected) return damaged("its hash is another one: it was changed");
  capnp::FlatArrayMessageReader second(rest, limits);
  return read_manifest(second.getRoot<msg::CheckpointManifest>(), std::string(header.getProgram()));
}

}  // namespace

std::string encode(const Manifest& manifest) {
  capnp::MallocMessageBuilder body;
  auto to = body.initRoot<msg::CheckpointManifest>();
  to.setJob(manifest.identity.job);
  to.setGroup(manifest.identity.group);
  to.setTrainProgram(manifest.identity.program);
  to.setSeed(manifest.identity.seed);
  to.setRanks(manifest.identity.ranks);
  to.setBatch(manifest.identity.batch);
  to.setSettings(manifest.identity.settings);
  to.setStep(manifest.step);
  to.setEpoch(manifest.epoch());
  to.setStepsPerEpoch(manifest.steps_per_epoch);
  to.setSteps(manifest.steps);
  to.setOptimizer(manifest.optimizer);
  to.setFingerprint(manifest.fingerprint);
  to.setBlockSize(manifest.block_size);
  write_lists(manifest, to);
  const auto words = words_of(body);
  Sha256 sha256;
  sha256.update(std::as_bytes(std::span(text_of(words))));
  const auto digest = sha256.digest();

  capnp::MallocMessageBuilder head;
  auto header = head.initRoot<msg::CheckpointHeader>();
  header.setFormat(format_name);
  header.setVersion(manifest_version);
  header.setProgram(manifest.version);
  header.setSize(text_of(words).size());
  header.setSha256(data_of(digest));
  std::string out(text_of(words_of(head)));
  return out.append(text_of(words));
}

Result<Manifest> decode_manifest(std::span<const std::byte> bytes) {
  if (bytes.size() > most_manifest_bytes || bytes.size() % sizeof(capnp::word) != 0) {
    return damaged("it has " + std::to_string(bytes.size()) + " bytes");
  }
  std::vector<capnp::word> words(bytes.size() / sizeof(capnp::word));  // aligned
  if (!words.empty()) std::memcpy(static_cast<void*>(words.data()), bytes.data(), bytes.size());
  try {
    return read_all_of({words.data(), words.size()});
  } catch (const kj::Exception& fault) {
    return damaged(std::string("it is damaged: ") + fault.getDescription().cStr());
  }
}

}  // namespace troupe::easyscale
