// SPDX-License-Identifier: Apache-2.0
#include "actors/net/handshake.hpp"

#include "messages/node.capnp.h"
#include "messages/wire_ids.hpp"

#include <capnp/message.h>
#include <capnp/serialize.h>

#include <cstring>

namespace troupe {
namespace {

constexpr std::size_t max_worker_address = 4096;

constexpr bool same(NodeRole ours, msg::NodeRole wire) {
  return static_cast<int>(ours) == static_cast<int>(wire);
}
static_assert(same(NodeRole::control, msg::NodeRole::CONTROL) &&
              same(NodeRole::host, msg::NodeRole::HOST) &&
              same(NodeRole::worker, msg::NodeRole::WORKER) &&
              same(NodeRole::client, msg::NodeRole::CLIENT));

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

std::string flatten(capnp::MessageBuilder& builder) {
  const auto words = capnp::messageToFlatArray(builder);
  const auto bytes = words.asBytes();
  return {reinterpret_cast<const char*>(bytes.begin()), bytes.size()};
}

std::string reason(const Error& why) {
  capnp::MallocMessageBuilder builder;
  auto error = builder.initRoot<msg::Refusal>().initError();
  error.setCode(static_cast<msg::ErrorCode>(why.code));
  error.setWhat(why.what);
  return flatten(builder);
}

/// Calls `use(reader)` with the root struct S of `body`; broken bytes become an Error.
template <class S, class Use>
Result<void> with_body(const std::string& body, Use&& use) {
  try {
    // std::string does not promise the alignment that Cap'n Proto needs.
    auto words = kj::heapArray<capnp::word>(body.size() / sizeof(capnp::word));
    std::memcpy(words.begin(), body.data(), words.size() * sizeof(capnp::word));
    capnp::ReaderOptions limits;
    limits.traversalLimitInWords = max_record_body;
    limits.nestingLimit = 8;
    capnp::FlatArrayMessageReader reader(words, limits);
    return use(reader.getRoot<S>());
  } catch (const kj::Exception& e) {
    return fail(ErrorCode::corrupt,
                std::string("a broken control record: ") + e.getDescription().cStr());
  }
}

}  // namespace

Handshake::Handshake(Role role, const ClusterSecret& secret, Introduction mine,
                     std::optional<NodeId> expected)
    : role_(role),
      secret_(secret),
      mine_(std::move(mine)),
      expected_(std::move(expected)),
      awaited_(role == Role::caller ? RecordKind::challenge : RecordKind::hello) {}

Digest Handshake::mac(RecordKind kind, const std::string& body) const {
  const auto number = static_cast<std::uint16_t>(kind);
  return secret_.mac({std::as_bytes(std::span(&number, 1)), transcript_, bytes_of(body)});
}

void Handshake::remember(RecordKind kind, const std::string& body) {
  const auto number = static_cast<std::uint16_t>(kind);
  Sha256 hash;
  hash.update(transcript_);
  hash.update(std::as_bytes(std::span(&number, 1)));
  hash.update(bytes_of(body));
  transcript_ = hash.digest();
  if (kind == RecordKind::introduction) introduced_ = transcript_;
}

Digest Handshake::session_key(Role sender) const {
  const std::string_view direction =
      sender == Role::caller ? "troupe caller to called 1" : "troupe called to caller 1";
  return secret_.mac({std::as_bytes(std::span(direction)), introduced_});
}

std::string Handshake::say(RecordKind kind, std::string body) {
  Record record{kind, mac(kind, body), std::move(body)};
  remember(kind, record.body);
  return encode_record(record);
}

std::string Handshake::say_hello(RecordKind kind) {
  capnp::MallocMessageBuilder builder;
  auto hello = builder.initRoot<msg::Hello>();  // Challenge has the same fields
  write_node(hello.initNode(), mine_.info.id);
  hello.setVersion(mine_.info.version);
  auto nonce = hello.initNonce(32);
  fill_random(std::as_writable_bytes(std::span(nonce.begin(), nonce.size())));
  return say(kind, flatten(builder));
}

std::string Handshake::say_introduction(RecordKind kind) {
  capnp::MallocMessageBuilder builder;
  auto introduction = builder.initRoot<msg::Introduction>();
  write_address(introduction.initControl(), mine_.info.control);
  introduction.setWorkerAddress(capnp::Data::Reader(
      reinterpret_cast<const kj::byte*>(mine_.worker_address.data()), mine_.worker_address.size()));
  introduction.setSession(mine_.session);
  introduction.setNodeActor(mine_.info.node_actor);
  introduction.setEncrypt(mine_.encrypt);
  introduction.setRole(static_cast<msg::NodeRole>(mine_.info.role));
  return say(kind, flatten(builder));
}

std::string Handshake::start() { return say_hello(RecordKind::hello); }

std::string Handshake::refusal(const Error& why) { return say(RecordKind::refusal, reason(why)); }

std::string Handshake::ping() {
  // Which side says it is in the MAC: a ping sent back to its sender is none.
  std::string body(16, '\0');
  const std::uint64_t side = role_ == Role::caller ? 1 : 2;
  std::memcpy(body.data(), &pings_out_, sizeof pings_out_);
  std::memcpy(body.data() + sizeof pings_out_, &side, sizeof side);
  ++pings_out_;
  return encode_record({RecordKind::ping, mac(RecordKind::ping, body), body});
}

bool Handshake::is_ping(const Record& record) {
  std::uint64_t count = 0;
  std::uint64_t side = 0;
  if (record.kind != RecordKind::ping || record.body.size() != sizeof count + sizeof side ||
      !equal_digests(record.mac, mac(RecordKind::ping, record.body))) {
    return false;
  }
  std::memcpy(&count, record.body.data(), sizeof count);
  std::memcpy(&side, record.body.data() + sizeof count, sizeof side);
  if (count != pings_in_ || side != (role_ == Role::caller ? 2 : 1)) return false;
  ++pings_in_;
  return true;
}

std::string Handshake::goodbye(const std::optional<Error>& why) {
  // The transcripts of the two sides are equal once the handshake is done; a goodbye adds nothing.
  const auto body = why ? reason(*why) : std::string();
  return encode_record({RecordKind::goodbye, mac(RecordKind::goodbye, body), body});
}

std::optional<Error> Handshake::heard_goodbye(const Record& record) const {
  if (record.kind != RecordKind::goodbye ||
      !equal_digests(record.mac, mac(RecordKind::goodbye, record.body))) {
    return std::nullopt;
  }
  if (record.body.empty()) return Error{ErrorCode::not_found, "the other side said goodbye"};
  return heard_refusal(record.body);
}

Result<void> Handshake::check(const Record& record) const {
  if (!equal_digests(record.mac, mac(record.kind, record.body))) {
    return fail(ErrorCode::permission_denied,
                "wrong cluster secret: the two nodes were given different secrets (--secret-file)");
  }
  if (record.kind != awaited_ && record.kind != RecordKind::refusal) {
    return fail(ErrorCode::corrupt, "a control record out of turn");
  }
  return {};
}

Result<void> Handshake::hear_hello(const std::string& body) {
  return with_body<msg::Hello>(body, [&](msg::Hello::Reader hello) -> Result<void> {
    PeerInfo peer;
    peer.id = read_node(hello.getNode());
    peer.version = hello.getVersion();
    if (!is_node_name(peer.id.name) || hello.getNonce().size() != 32) {
      return fail(ErrorCode::corrupt, "a control record with a bad name or nonce");
    }
    if (peer.version != mine_.info.version) {
      return fail(ErrorCode::version_mismatch, "node " + mine_.info.id.name + " runs Troupe " +
                                                   mine_.info.version + ", node " + peer.id.name +
                                                   " runs " + peer.version +
                                                   ": install the same version on both");
    }
    if (peer.id == mine_.info.id) {
      return fail(ErrorCode::invalid_argument, "that is this node's own address");
    }
    if (expected_ && *expected_ != peer.id) {
      return fail(ErrorCode::unavailable, "node " + to_string(*expected_) + " is gone; " +
                                              to_string(peer.id) + " listens there now");
    }
    peer_ = std::move(peer);
    return {};
  });
}

Result<void> Handshake::hear_introduction(const std::string& body) {
  return with_body<msg::Introduction>(body, [&](msg::Introduction::Reader said) -> Result<void> {
    const auto address = said.getWorkerAddress();
    if (address.size() == 0 || address.size() > max_worker_address || said.getSession() == 0) {
      return fail(ErrorCode::corrupt, "a control record with a bad worker address or session");
    }
    if (said.getRole() > msg::NodeRole::CLIENT) {
      return fail(ErrorCode::corrupt, "a control record with a role that no node has");
    }
    if (said.getEncrypt() != mine_.encrypt) {
      return fail(ErrorCode::permission_denied,
                  "one of the nodes " + mine_.info.id.name + " and " + peer_->id.name +
                      " encrypts and the other does not: start both with or without --encrypt");
    }
    peer_->control = read_address(said.getControl());
    peer_->node_actor = said.getNodeActor();
    peer_->role = static_cast<NodeRole>(said.getRole());
    theirs_.info = *peer_;
    theirs_.worker_address.assign(reinterpret_cast<const char*>(address.begin()), address.size());
    theirs_.session = said.getSession();
    return {};
  });
}

Error Handshake::heard_refusal(const std::string& body) const {
  Error error{ErrorCode::unavailable, "refused"};
  auto read = with_body<msg::Refusal>(body, [&](msg::Refusal::Reader refusal) -> Result<void> {
    error = {static_cast<ErrorCode>(refusal.getError().getCode()), refusal.getError().getWhat()};
    return {};
  });
  return read ? error : read.error();
}

Result<std::string> Handshake::answer(const Record& record) {
  switch (record.kind) {
    case RecordKind::hello:
      awaited_ = RecordKind::introduction;
      return say_hello(RecordKind::challenge);
    case RecordKind::challenge:
      awaited_ = RecordKind::welcome;
      return say_introduction(RecordKind::introduction);
    case RecordKind::introduction:
      done_ = true;
      return say_introduction(RecordKind::welcome);
    default:
      done_ = true;
      return std::string();
  }
}

Result<std::string> Handshake::take(const Record& record) {
  if (auto good = check(record); !good) return Failure(good.error());
  if (record.kind == RecordKind::refusal) return Failure(heard_refusal(record.body));
  const bool greets = record.kind == RecordKind::hello || record.kind == RecordKind::challenge;
  auto heard = greets ? hear_hello(record.body) : hear_introduction(record.body);
  remember(record.kind, record.body);
  if (!heard) return Failure(heard.error());
  return answer(record);
}

}  // namespace troupe
