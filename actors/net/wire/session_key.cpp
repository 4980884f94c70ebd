// SPDX-License-Identifier: Apache-2.0
#include "actors/net/wire/session_key.hpp"

#include <sodium.h>

#include <cstring>
#include <string>

namespace troupe {
namespace {

const unsigned char* raw(const std::byte* p) { return reinterpret_cast<const unsigned char*>(p); }
unsigned char* raw(std::byte* p) { return reinterpret_cast<unsigned char*>(p); }

std::array<unsigned char, 12> nonce_of(std::uint64_t sequence, std::uint32_t part) {
  std::array<unsigned char, 12> nonce;
  std::memcpy(nonce.data(), &sequence, sizeof sequence);
  std::memcpy(nonce.data() + sizeof sequence, &part, sizeof part);
  return nonce;
}

Digest derive(const Digest& secret, std::string_view purpose) {
  Sha256 hash;
  hash.update(std::as_bytes(std::span(purpose)));
  hash.update(secret);
  return hash.digest();
}

}  // namespace

SessionKey::SessionKey(const Digest& secret) : cipher_key_(derive(secret, "troupe cipher 1")) {
  const auto tag_key = derive(secret, "troupe tag 1");
  std::copy_n(tag_key.begin(), tag_key_.size(), tag_key_.begin());
}

Tag SessionKey::tag(std::initializer_list<std::span<const std::byte>> parts) const {
  Tag result;
  const auto compute = [&](std::span<const std::byte> bytes) {
    crypto_shorthash_siphashx24(raw(result.data()), raw(bytes.data()), bytes.size(),
                                raw(tag_key_.data()));
  };
  if (parts.size() == 1) {
    compute(*parts.begin());
    return result;
  }
  std::string joined;
  for (const auto part : parts) {
    joined.append(reinterpret_cast<const char*>(part.data()), part.size());
  }
  compute(std::as_bytes(std::span(joined)));
  return result;
}

Tag SessionKey::encrypt(std::uint64_t sequence, std::uint32_t part,
                        std::span<const std::byte> clear, std::span<std::byte> bytes) const {
  Tag tag;
  const auto nonce = nonce_of(sequence, part);
  crypto_aead_chacha20poly1305_ietf_encrypt_detached(
      raw(bytes.data()), raw(tag.data()), nullptr, raw(bytes.data()), bytes.size(),
      raw(clear.data()), clear.size(), nullptr, nonce.data(), raw(cipher_key_.data()));
  return tag;
}

bool SessionKey::decrypt(std::uint64_t sequence, std::uint32_t part,
                         std::span<const std::byte> clear, std::span<std::byte> bytes,
                         const Tag& tag) const {
  const auto nonce = nonce_of(sequence, part);
  return crypto_aead_chacha20poly1305_ietf_decrypt_detached(
             raw(bytes.data()), nullptr, raw(bytes.data()), bytes.size(), raw(tag.data()),
             raw(clear.data()), clear.size(), nonce.data(), raw(cipher_key_.data())) == 0;
}

bool equal_tags(const Tag& a, const Tag& b) {
  return sodium_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace troupe
