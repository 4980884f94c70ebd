// SPDX-License-Identifier: Apache-2.0
//
// A message of any schema of ours, with the limits that actors read it with, and every field of it.
// The first byte chooses the schema.
#include "actors/base/assert.hpp"
#include "actors/core/message.hpp"
#include "tests/fuzz/schemas.hpp"

#include <capnp/dynamic.h>
#include <kj/exception.h>

#include <cstring>

namespace troupe::fuzz {
namespace {

/// Looks at every field, and counts the values that it has seen: limits on the message must keep
/// that number small.
class Walk {
 public:
  void see(const capnp::DynamicValue::Reader& value) {
    ++seen_;
    switch (value.getType()) {
      case capnp::DynamicValue::TEXT:
        sum_ += value.as<capnp::Text>().size();
        break;
      case capnp::DynamicValue::DATA:
        for (const auto byte : value.as<capnp::Data>()) sum_ += byte;
        break;
      case capnp::DynamicValue::LIST:
        for (const auto element : value.as<capnp::DynamicList>()) see(element);
        break;
      case capnp::DynamicValue::STRUCT:
        see_fields(value.as<capnp::DynamicStruct>());
        break;
      case capnp::DynamicValue::ANY_POINTER:
        see_pointer(value.as<capnp::AnyPointer>());
        break;
      default:
        break;
    }
  }
  [[nodiscard]] std::uint64_t seen() const { return seen_; }

 private:
  void see_fields(const capnp::DynamicStruct::Reader& value) {
    for (const auto field : value.getSchema().getFields()) {
      if (value.has(field)) see(value.get(field));
    }
  }
  void see_pointer(const capnp::AnyPointer::Reader& value) {
    if (value.isStruct()) {
      see(value.getAs<capnp::DynamicStruct>(capnp::StructSchema::from<msg::TrainerArgs>()));
    }
  }

  std::uint64_t seen_ = 0;
  std::uint64_t sum_ = 0;
};

}  // namespace
}  // namespace troupe::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace troupe;
  if (size == 0) return 0;
  const auto schema = fuzz::schemas[data[0] % fuzz::schemas.size()];
  auto words = kj::heapArray<capnp::word>((size - 1) / sizeof(capnp::word));
  std::memcpy(words.begin(), data + 1, words.size() * sizeof(capnp::word));
  const auto bytes = words.asBytes().size();
  fuzz::Walk walk;
  try {
    capnp::FlatArrayMessageReader reader(words, message_limits(bytes));
    walk.see(reader.getRoot<capnp::DynamicStruct>(schema));
  } catch (const kj::Exception&) {  // a refusal
  }
  // A word that is read once holds 64 values at most, and the limits allow 8 readings.
  TROUPE_ASSERT(walk.seen() <= 64 * (1024 + 8 * bytes));
  return 0;
}
