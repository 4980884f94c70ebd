// SPDX-License-Identifier: Apache-2.0
#include "actors/net/crypto.hpp"

#include "actors/base/assert.hpp"
#include "actors/base/fd.hpp"

#include <fcntl.h>
#include <sodium.h>
#include <sys/stat.h>

#include <cerrno>

namespace troupe {
namespace {

constexpr std::size_t max_secret_bytes = 4096;
constexpr std::size_t min_secret_bytes = 16;

unsigned char* raw(std::byte* p) { return reinterpret_cast<unsigned char*>(p); }
const unsigned char* raw(const std::byte* p) { return reinterpret_cast<const unsigned char*>(p); }

void start_sodium() {
  static const int started = sodium_init();
  TROUPE_ASSERT(started >= 0);
}

Result<ClusterSecret> read_secret(int fd, const std::string& place) {
  auto text = read_all(fd, max_secret_bytes);
  if (!text) return fail_at(place, text.error());
  auto secret = ClusterSecret::from_text(*text);
  sodium_memzero(text->data(), text->size());
  if (!secret) return fail_at(place, secret.error());
  return secret;
}

}  // namespace

Sha256::Sha256() {
  static_assert(sizeof(crypto_hash_sha256_state) <= sizeof(state_));
  crypto_hash_sha256_init(reinterpret_cast<crypto_hash_sha256_state*>(state_.data()));
}

void Sha256::update(std::span<const std::byte> bytes) {
  crypto_hash_sha256_update(reinterpret_cast<crypto_hash_sha256_state*>(state_.data()),
                            raw(bytes.data()), bytes.size());
}

Digest Sha256::digest() {
  Digest result;
  crypto_hash_sha256_final(reinterpret_cast<crypto_hash_sha256_state*>(state_.data()),
                           raw(result.data()));
  return result;
}

std::string Sha256::hex() { return to_hex(digest()); }

std::string to_hex(std::span<const std::byte> bytes) {
  std::string text(bytes.size() * 2 + 1, '\0');
  sodium_bin2hex(text.data(), text.size(), raw(bytes.data()), bytes.size());
  text.pop_back();
  return text;
}

void fill_random(std::span<std::byte> bytes) {
  start_sodium();
  randombytes_buf(bytes.data(), bytes.size());
}

std::uint64_t random_number() {
  std::uint64_t number = 0;
  while (number == 0) fill_random(std::as_writable_bytes(std::span(&number, 1)));
  return number;
}

ClusterSecret::ClusterSecret(std::string text) : text_(std::move(text)) {
  start_sodium();
  Sha256 hash;
  hash.update(std::as_bytes(std::span(std::string_view("troupe cluster secret 1"))));
  hash.update(std::as_bytes(std::span(text_)));
  key_ = hash.digest();
}

ClusterSecret::~ClusterSecret() {
  sodium_memzero(text_.data(), text_.size());
  sodium_memzero(key_.data(), key_.size());
}

ClusterSecret ClusterSecret::random() {
  Digest bytes;
  fill_random(bytes);
  return ClusterSecret(to_hex(bytes));
}

Result<ClusterSecret> ClusterSecret::from_text(std::string_view text) {
  constexpr std::string_view space = " \t\r\n";
  const auto first = text.find_first_not_of(space);
  if (first == std::string_view::npos) return fail(ErrorCode::invalid_argument, "empty secret");
  text = text.substr(first, text.find_last_not_of(space) - first + 1);
  if (text.size() < min_secret_bytes || text.size() > max_secret_bytes) {
    return fail(ErrorCode::invalid_argument,
                "a secret has 16 to 4096 characters, this one " + std::to_string(text.size()) +
                    "; make one with: head -c 32 /dev/urandom | base64 > FILE; chmod 600 FILE");
  }
  return ClusterSecret(std::string(text));
}

Result<ClusterSecret> ClusterSecret::from_file(const std::string& path) {
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return fail(ErrorCode::not_found, path + ": " + errno_text(errno));
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0 || !S_ISREG(status.st_mode)) {
    return fail(ErrorCode::invalid_argument, path + ": not a file");
  }
  if ((status.st_mode & 077) != 0) {
    return fail(ErrorCode::permission_denied,
                path + ": others may read this secret; run: chmod 600 " + path);
  }
  return read_secret(fd.get(), path);
}

Result<ClusterSecret> ClusterSecret::from_fd(int number) {
  const Fd fd(number);
  return read_secret(fd.get(), "secret from descriptor " + std::to_string(number));
}

Digest ClusterSecret::mac(std::initializer_list<std::span<const std::byte>> parts) const {
  crypto_auth_hmacsha256_state state;
  crypto_auth_hmacsha256_init(&state, raw(key_.data()), key_.size());
  for (const auto part : parts) {
    crypto_auth_hmacsha256_update(&state, raw(part.data()), part.size());
  }
  Digest result;
  crypto_auth_hmacsha256_final(&state, raw(result.data()));
  return result;
}

bool equal_digests(const Digest& a, const Digest& b) {
  return sodium_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace troupe
