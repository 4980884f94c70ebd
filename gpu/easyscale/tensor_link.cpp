// SPDX-License-Identifier: Apache-2.0
#include "gpu/easyscale/tensor_link.hpp"

#include "actors/net/bulk/bulk.hpp"

#include <algorithm>

namespace troupe::easyscale {

bool is_another_process_here(const PeerInfo& self, const ActorRef& other) {
  return other.node != self.id && !other.control.host.empty() &&
         other.control.host == self.control.host;
}

TensorLink::~TensorLink() {
  withdraw_if([](const Offer&) { return true; });
}

template <class Condition>
void TensorLink::withdraw_if(const Condition& condition) {
  std::erase_if(offers_, [&](const Offer& offer) {
    const bool hit = condition(offer);
    if (hit) bulk_.store().withdraw(offer.ref);
    return hit;
  });
}

std::optional<BulkRef> TensorLink::offer(std::uint64_t generation, std::uint64_t step,
                                         const Slice& bytes) {
  if (bytes.size() < large) return std::nullopt;
  const auto known = std::find_if(offers_.begin(), offers_.end(), [&](const Offer& offer) {
    return offer.generation == generation && offer.step == step && offer.data == bytes.data() &&
           offer.ref.length == bytes.size();
  });
  if (known != offers_.end()) return known->ref;
  auto ref = bulk_.store().expose(bytes);
  if (!ref) return std::nullopt;
  offers_.push_back({generation, step, bytes.data(), *ref});
  return *ref;
}

void TensorLink::end_step(std::uint64_t generation, std::uint64_t step) {
  withdraw_if([&](const Offer& offer) {
    return offer.generation < generation || (offer.generation == generation && offer.step <= step);
  });
}

void TensorLink::end_views_before(std::uint64_t generation) {
  withdraw_if([&](const Offer& offer) { return offer.generation < generation; });
}

Result<Slice> TensorLink::take(const Slice& blob, msg::BulkRef::Reader bulk) {
  if (bulk.getKey() == 0) return blob;
  return bulk_.reader().fetch(read_bulk_ref(bulk));
}

bool TensorLink::is_over(const Error& error) {
  // Withdrawn before or while it was copied: the sender is past that step, or in a newer view.
  // Unavailable: it is dead, and the next view says what counts.
  return error.code == ErrorCode::not_found || error.code == ErrorCode::aborted ||
         error.code == ErrorCode::unavailable;
}

}  // namespace troupe::easyscale
