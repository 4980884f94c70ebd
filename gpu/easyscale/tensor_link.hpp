// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/net/bulk/bulk_ref.hpp"
#include "actors/net/transport.hpp"
#include "messages/slice.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace troupe {
class Bulk;
}

namespace troupe::easyscale {

/// Whether an actor lives in another process on this host: then the bytes that it needs are better
/// pulled by it than sent. A mistake costs time only.
[[nodiscard]] bool is_another_process_here(const PeerInfo& self, const ActorRef& other);

/// How a trainer hands large tensors to others: as exposed memory that they pull, for as long as
/// the step that they belong to. Owned by one trainer and called from its thread.
class TensorLink {
 public:
  /// Fewer bytes than that travel in the message itself.
  static constexpr std::size_t large = 32768;

  explicit TensorLink(Bulk& bulk) : bulk_(bulk) {}
  ~TensorLink();
  TensorLink(const TensorLink&) = delete;

  /// Exposes the bytes, once however many ask for them. None: send them in the message.
  [[nodiscard]] std::optional<BulkRef> offer(std::uint64_t generation, std::uint64_t step,
                                             const Slice& bytes);
  /// This step of this view is committed: who needed something for it or for earlier ones has it.
  void end_step(std::uint64_t generation, std::uint64_t step);
  /// Nobody needs anything any more that was for earlier views.
  void end_views_before(std::uint64_t generation);

  /// The bytes that a message brings: in its blob, or where its ref says. Errors: see is_over.
  [[nodiscard]] Result<Slice> take(const Slice& blob, msg::BulkRef::Reader bulk);
  /// Whether an error of take() means that nobody waits for these bytes any more.
  [[nodiscard]] static bool is_over(const Error& error);

 private:
  struct Offer {
    std::uint64_t generation;
    std::uint64_t step;
    const std::byte* data;
    BulkRef ref;
  };
  template <class Condition>
  void withdraw_if(const Condition& condition);

  Bulk& bulk_;
  std::vector<Offer> offers_;
};

}  // namespace troupe::easyscale
