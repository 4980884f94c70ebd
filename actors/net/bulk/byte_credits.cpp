// SPDX-License-Identifier: Apache-2.0
//
// One waits for credits, the others wait for him: a large demand is not overtaken for ever by small
// ones.
#include "actors/net/bulk/byte_credits.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace troupe {

ByteCredits::Held::Held(Held&& other) noexcept
    : from_(std::exchange(other.from_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

ByteCredits::Held& ByteCredits::Held::operator=(Held&& other) noexcept {
  std::swap(from_, other.from_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

ByteCredits::Held::~Held() {
  if (from_ != nullptr) from_->give_back(bytes_);
}

Result<ByteCredits::Held> ByteCredits::take(std::uint64_t bytes, Deadline deadline) {
  bytes = std::min(bytes, limit_);
  std::unique_lock lock(mutex_);
  bool in_time = changed_.wait_until(lock, deadline, [&] { return !someone_first_; });
  if (in_time) {
    someone_first_ = true;
    in_time = changed_.wait_until(lock, deadline, [&] { return in_use_ + bytes <= limit_; });
    someone_first_ = false;
    changed_.notify_all();
  }
  if (!in_time) {
    return fail(ErrorCode::timeout, "waited in vain for " + std::to_string(bytes) +
                                        " bytes of credit: " + std::to_string(in_use_) +
                                        " are on their way to or from this peer");
  }
  in_use_ += bytes;
  return Held(*this, bytes);
}

std::uint64_t ByteCredits::in_use() const {
  const std::lock_guard lock(mutex_);
  return in_use_;
}

void ByteCredits::give_back(std::uint64_t bytes) {
  {
    const std::lock_guard lock(mutex_);
    in_use_ -= bytes;
  }
  changed_.notify_all();
}

}  // namespace troupe
