// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/net/crypto.hpp"
#include "actors/net/record.hpp"
#include "actors/net/transport.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace troupe {

/// What one node must know of another in order to send to it.
struct Introduction {
  PeerInfo info;
  std::string worker_address;  ///< UCX worker address
  std::uint64_t session = 0;   ///< to be written into every message for that node
  bool encrypt = false;        ///< both sides must want the same
};

/// Mutual authentication on a control connection, as a state machine without socket or clock.
///
///     caller                        called
///     hello        {id, version, nonce}     ->
///                  <- challenge     {id, version, nonce}
///     introduction {addresses, session}     ->
///                  <- welcome       {addresses, session}   or refusal {error}
///
/// Every record carries HMAC-SHA-256 under the cluster secret over its kind, its body and a hash of
/// all records before it; so each side proves that it knows the secret to the other's fresh nonce,
/// both identities and all addresses are bound together, and a replayed conversation fails at its
/// third record. Addresses are told only to who has proved the secret.
class Handshake {
 public:
  enum class Role { caller, called };

  /// `mine.session` is the number that the peer shall use in its frames.
  Handshake(Role role, const ClusterSecret& secret, Introduction mine,
            std::optional<NodeId> expected = {});

  /// The caller's first bytes.
  [[nodiscard]] std::string start();

  /// Takes the other side's next record; gives the bytes to answer with, perhaps none. After an
  /// error the bytes of refusal() are the last to send, and the connection is over.
  [[nodiscard]] Result<std::string> take(const Record& record);
  [[nodiscard]] std::string refusal(const Error& why);

  /// Who must be found there, if that matters.
  [[nodiscard]] const std::optional<NodeId>& expected() const { return expected_; }
  /// Who the other side is, once it has proved that it knows the secret.
  [[nodiscard]] const std::optional<PeerInfo>& peer() const { return peer_; }
  [[nodiscard]] const Introduction& mine() const { return mine_; }
  /// Complete when done.
  [[nodiscard]] bool done() const { return done_; }
  [[nodiscard]] const Introduction& theirs() const { return theirs_; }

  /// The keys of this connection, from the secret and both nonces; valid as soon as peer() is known
  /// and, for the called node, its introduction has been taken.
  [[nodiscard]] Digest key_to_peer() const { return session_key(role_); }
  [[nodiscard]] Digest key_from_peer() const {
    return session_key(role_ == Role::caller ? Role::called : Role::caller);
  }

  /// A sign of life after a done handshake, and its check; each is good once.
  [[nodiscard]] std::string ping();
  [[nodiscard]] bool is_ping(const Record& record);
  /// The end of a connection after a done handshake: an orderly one, or with the reason why the
  /// other side is not wanted any more.
  [[nodiscard]] std::string goodbye(const std::optional<Error>& why = {});
  /// The reason in a goodbye (not_found: an orderly one); nothing where the record is none.
  [[nodiscard]] std::optional<Error> heard_goodbye(const Record& record) const;

 private:
  [[nodiscard]] Digest session_key(Role sender) const;
  [[nodiscard]] Digest mac(RecordKind kind, const std::string& body) const;
  [[nodiscard]] std::string say(RecordKind kind, std::string body);
  [[nodiscard]] std::string say_hello(RecordKind kind);
  [[nodiscard]] std::string say_introduction(RecordKind kind);
  [[nodiscard]] Result<void> check(const Record& record) const;
  [[nodiscard]] Result<void> hear_hello(const std::string& body);
  [[nodiscard]] Result<void> hear_introduction(const std::string& body);
  [[nodiscard]] Error heard_refusal(const std::string& body) const;
  [[nodiscard]] Result<std::string> answer(const Record& record);
  void remember(RecordKind kind, const std::string& body);

  Role role_;
  ClusterSecret secret_;
  Introduction mine_;
  std::optional<NodeId> expected_;
  RecordKind awaited_;
  Digest transcript_{};
  Digest introduced_{};  ///< the transcript up to the caller's introduction
  std::optional<PeerInfo> peer_;
  Introduction theirs_;
  bool done_ = false;
  std::uint64_t pings_out_ = 0;
  std::uint64_t pings_in_ = 0;
};

}  // namespace troupe
