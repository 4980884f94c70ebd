// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace troupe::easyscale {

/// One function for each alternative of a variant: std::visit(Match{[](A) {}, [](B) {}}, variant).
template <class... Cases>
struct Match : Cases... {
  using Cases::operator()...;
};
template <class... Cases>
Match(Cases...) -> Match<Cases...>;

}  // namespace troupe::easyscale
