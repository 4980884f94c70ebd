// SPDX-License-Identifier: Apache-2.0
#include "actors/control/store/stored_record.hpp"

#include "actors/core/message.hpp"
#include "actors/net/crypto.hpp"
#include "messages/store.capnp.h"
#include "messages/version.hpp"

#include <kj/exception.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>
#include <vector>

namespace troupe {
namespace {

Digest hash_of(std::string_view body) {
  Sha256 hash;
  hash.update(std::as_bytes(std::span(body)));
  return hash.digest();
}

/// Throws kj::Exception where the bytes are no record.
Result<std::string> unwrap(std::uint32_t format, std::string_view bytes) {
  const Slice slice = Slice::own(
      std::vector<std::byte>(reinterpret_cast<const std::byte*>(bytes.data()),
                             reinterpret_cast<const std::byte*>(bytes.data() + bytes.size())));
  MessageView<msg::StoredRecord> record(slice.bytes());
  if (record->getFormat() > format) {
    return fail(ErrorCode::version_mismatch,
                "written by Troupe " + std::string(record->getProgram()) + " in format " +
                    std::to_string(record->getFormat()) + "; this is Troupe " + program_version +
                    ", which knows formats up to " + std::to_string(format) +
                    ": use the newer program");
  }
  const auto body = record->getBody().asChars();
  const auto hash = record->getSha256();
  const auto right = hash_of({body.begin(), body.size()});
  if (record->getFormat() == 0 || hash.size() != right.size() ||
      std::memcmp(hash.begin(), right.data(), right.size()) != 0) {
    return fail(ErrorCode::corrupt, "the record is damaged: its hash is another");
  }
  return std::string(body.begin(), body.size());
}

}  // namespace

std::string wrap_record(std::uint32_t format, std::string_view body) {
  const auto hash = hash_of(body);
  const auto record = Msg<msg::StoredRecord>::build([&](msg::StoredRecord::Builder to) {
    to.setFormat(format);
    to.setProgram(program_version);
    to.setSha256({reinterpret_cast<const kj::byte*>(hash.data()), hash.size()});
    to.setBody({reinterpret_cast<const kj::byte*>(body.data()), body.size()});
  });
  const auto bytes = record.body().bytes();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

Result<std::string> unwrap_record(std::uint32_t format, std::string_view bytes) {
  try {
    return unwrap(format, bytes);
  } catch (const kj::Exception& error) {
    return fail(ErrorCode::corrupt,
                std::string("not a stored record: ") + error.getDescription().cStr());
  }
}

}  // namespace troupe
