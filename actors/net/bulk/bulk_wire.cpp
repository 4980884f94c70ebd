// SPDX-License-Identifier: Apache-2.0
#include "actors/net/bulk/bulk_wire.hpp"

#include <capnp/message.h>
#include <capnp/serialize.h>

#include <algorithm>
#include <memory>
#include <string>

namespace troupe {
namespace {

template <class S, class Fill>
Slice build(const Fill& fill) {
  capnp::MallocMessageBuilder builder(64);
  fill(builder.initRoot<S>());
  auto flat = std::make_shared<kj::Array<capnp::word>>(capnp::messageToFlatArray(builder));
  const auto bytes = std::as_bytes(std::span(flat->begin(), flat->size()));
  return Slice(std::move(flat), bytes);
}

// `use` gets the root; what it or Cap'n Proto objects to is an error.
template <class S, class Use>
auto read(std::span<const std::byte> body, const Use& use)
    -> decltype(use(std::declval<typename S::Reader>())) {
  try {  // decode boundary
    capnp::ReaderOptions limits;
    limits.traversalLimitInWords = std::max<std::uint64_t>(body.size(), 1024);  // 8 x its words
    limits.nestingLimit = 8;
    capnp::FlatArrayMessageReader reader(
        kj::arrayPtr(reinterpret_cast<const capnp::word*>(body.data()),
                     body.size() / sizeof(capnp::word)),
        limits);
    return use(reader.getRoot<S>());
  } catch (const kj::Exception& fault) {
    return fail(ErrorCode::corrupt, std::string("bulk data: ") + fault.getDescription().cStr());
  }
}

capnp::Data::Reader data_of(const std::string& text) {
  return {reinterpret_cast<const kj::byte*>(text.data()), text.size()};
}

ErrorCode known(msg::ErrorCode code) {
  return code <= msg::ErrorCode::ABORTED ? static_cast<ErrorCode>(code) : ErrorCode::internal;
}

}  // namespace

Slice write_request(const BulkRef& ref, bool write, const BulkBatch& batch) {
  return build<msg::BulkRequest>([&](msg::BulkRequest::Builder to) {
    to.setSlot(ref.slot);
    to.setKey(ref.key);
    to.setWrite(write);
    auto ranges = to.initRanges(static_cast<unsigned>(batch.ranges.size()));
    for (unsigned i = 0; i < ranges.size(); ++i) {
      ranges[i].setOffset(batch.ranges[i].offset);
      ranges[i].setLength(batch.ranges[i].length);
    }
  });
}

Slice write_grant_request(const BulkRef& ref) {
  return build<msg::BulkRequest>([&](msg::BulkRequest::Builder to) {
    to.setSlot(ref.slot);
    to.setKey(ref.key);
    to.setGrant(true);
  });
}

Slice write_grant(const RmaGrant& grant) {
  return build<msg::BulkGrant>([&](msg::BulkGrant::Builder to) {
    to.setWorker(data_of(grant.worker));
    to.setKey(data_of(grant.key));
    to.setAddress(grant.address);
  });
}

Result<RmaGrant> read_grant(const Slice& blob) {
  return read<msg::BulkGrant>(blob.bytes(), [](msg::BulkGrant::Reader from) -> Result<RmaGrant> {
    const auto text = [](capnp::Data::Reader data) {
      return std::string(reinterpret_cast<const char*>(data.begin()), data.size());
    };
    return RmaGrant{text(from.getWorker()), text(from.getKey()), from.getAddress()};
  });
}

Result<BulkRequest> read_request(std::span<const std::byte> body) {
  return read<msg::BulkRequest>(body, [](msg::BulkRequest::Reader from) -> Result<BulkRequest> {
    BulkRequest request{from.getSlot(), from.getKey(), from.getWrite(), from.getGrant(), {}};
    if (from.getRanges().size() > most_ranges_asked) {
      return fail(ErrorCode::invalid_argument,
                  std::to_string(from.getRanges().size()) + " ranges at once, " +
                      std::to_string(most_ranges_asked) + " are allowed");
    }
    for (const auto range : from.getRanges()) {
      const auto left = most_bytes_asked - request.batch.bytes;
      if (range.getLength() > left) {
        return fail(ErrorCode::invalid_argument,
                    "more than " + std::to_string(most_bytes_asked) + " bytes at once");
      }
      request.batch.ranges.push_back({range.getOffset(), range.getLength()});
      request.batch.bytes += range.getLength();
    }
    return request;
  });
}

Slice write_answer(const Result<Slice>& answer) {
  return build<msg::BulkAnswer>([&](msg::BulkAnswer::Builder to) {
    if (answer) return to.setDone();
    auto error = to.initError();
    error.setCode(static_cast<msg::ErrorCode>(answer.error().code));
    error.setWhat(answer.error().what);
  });
}

Result<void> read_answer(std::span<const std::byte> body) {
  return read<msg::BulkAnswer>(body, [](msg::BulkAnswer::Reader from) -> Result<void> {
    if (from.isDone()) return {};
    if (!from.isError()) return fail(ErrorCode::corrupt, "an answer of an unknown kind");
    return fail(known(from.getError().getCode()), from.getError().getWhat());
  });
}

}  // namespace troupe
