// SPDX-License-Identifier: Apache-2.0
//
// A partner that knows the secret, and so gets past the MAC with whatever it says. An input is the
// role of the node (bit 0 of the first byte) and then records: kind, length of the body in words,
// body. A record of kind 0 is what an honest partner would say; bit 7 of a kind spoils the MAC.
#include "actors/base/assert.hpp"
#include "actors/net/handshake.hpp"

#include <memory>

namespace troupe {
namespace {

const ClusterSecret secret = *ClusterSecret::from_text("0123456789abcdef0123456789abcdef");

Introduction introduction(const std::string& name) {
  Introduction mine;
  mine.info = {{name, 7}, {"127.0.0.1", 7000}, "1.0", 3};
  mine.worker_address = "worker of " + name;
  mine.session = 42;
  return mine;
}

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

/// The other end of the connection: computes MACs as the protocol says, and has an honest handshake
/// beside it as long as nothing else was said.
class Partner {
 public:
  explicit Partner(bool calls)
      : honest_(calls ? Handshake::Role::caller : Handshake::Role::called, secret,
                introduction("partner")) {
    if (calls) next_ = honest_.start();
  }

  /// What an honest partner would say now; nothing where there is none.
  std::optional<Record> honest() {
    auto record = take(next_);
    if (record) remember(*record);
    return record;
  }
  Record forge(std::uint8_t kind, std::string body) {
    Record record{static_cast<RecordKind>(kind & 0x7f), {}, std::move(body)};
    const auto number = static_cast<std::uint16_t>(record.kind);
    record.mac =
        secret.mac({std::as_bytes(std::span(&number, 1)), transcript_, bytes_of(record.body)});
    if ((kind & 0x80) != 0) record.mac[0] ^= std::byte{1};
    remember(record);
    return record;
  }
  void hear(std::string bytes) {
    const auto record = take(bytes);
    if (!record) return;
    remember(*record);
    if (auto answer = honest_.take(*record)) next_ = *answer;
  }
  [[nodiscard]] bool done() const { return honest_.done(); }

 private:
  static std::optional<Record> take(std::string& bytes) {
    if (bytes.empty()) return std::nullopt;
    auto record = take_record(bytes);
    TROUPE_ASSERT(record && *record);  // what our own handshakes say is well formed
    return std::move(**record);
  }
  void remember(const Record& record) {
    const auto number = static_cast<std::uint16_t>(record.kind);
    Sha256 hash;
    hash.update(transcript_);
    hash.update(std::as_bytes(std::span(&number, 1)));
    hash.update(bytes_of(record.body));
    transcript_ = hash.digest();
  }

  Handshake honest_;
  std::string next_;
  Digest transcript_{};
};

/// Gives whether the node considers the handshake done.
bool play(std::span<const std::uint8_t> input) {
  if (input.empty()) return false;
  const bool node_calls = (input[0] & 1) != 0;
  input = input.subspan(1);
  Handshake node(node_calls ? Handshake::Role::caller : Handshake::Role::called, secret,
                 introduction("node"));
  Partner partner(!node_calls);
  if (node_calls) partner.hear(node.start());
  while (input.size() >= 2 && !node.done()) {
    const auto kind = input[0];
    const auto size = std::min<std::size_t>(input[1] * 8u, (input.size() - 2) / 8 * 8);
    std::string body(reinterpret_cast<const char*>(input.data()) + 2, size);
    input = input.subspan(2 + size);
    const auto record = kind == 0 ? partner.honest() : partner.forge(kind, std::move(body));
    if (!record) break;
    const auto answer = node.take(*record);
    if (!answer) {
      (void)node.refusal(answer.error());
      break;
    }
    partner.hear(*answer);
  }
  if (node.done()) {
    TROUPE_ASSERT(node.peer() && !node.theirs().worker_address.empty());
    TROUPE_ASSERT(is_node_name(node.theirs().info.id.name) && node.theirs().session != 0);
  }
  return node.done();
}

/// Without this a change of the protocol would leave nothing of this test but refused MACs.
const bool honest_partners_get_through = [] {
  const std::uint8_t called[] = {0, 0, 0, 0, 0};
  const std::uint8_t calling[] = {1, 0, 0, 0, 0};
  TROUPE_ASSERT(play(called) && play(calling));
  return true;
}();

}  // namespace
}  // namespace troupe

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  troupe::play({data, size});
  return 0;
}
