// SPDX-License-Identifier: Apache-2.0
#include "actors/net/strangers.hpp"

#include <netinet/in.h>

#include <tuple>
#include <utility>

namespace troupe {

std::string origin_of(const sockaddr_storage& address) {
  if (address.ss_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(address).sin_addr;
    return {reinterpret_cast<const char*>(&v4), sizeof v4};
  }
  if (address.ss_family == AF_INET6) {
    const auto& v6 = reinterpret_cast<const sockaddr_in6&>(address).sin6_addr;
    return {reinterpret_cast<const char*>(&v6), 8};
  }
  return {};
}

std::optional<int> Strangers::victim() const {
  return count() < limit ? std::nullopt : least_wanted();
}

std::optional<int> Strangers::least_wanted() const {
  std::optional<int> worst;
  std::tuple<std::size_t, bool, std::uint64_t> worst_rank;
  for (const auto& [fd, stranger] : all_) {
    const auto crowd = of_origin_.at(stranger.origin);
    const std::tuple rank(crowd > share ? crowd : 0, !stranger.greeted, ~stranger.number);
    if (!worst || rank > worst_rank) {
      worst = fd;
      worst_rank = rank;
    }
  }
  return worst;
}

void Strangers::add(int fd, std::string origin) {
  ++of_origin_[origin];
  all_[fd] = {next_number_++, std::move(origin), false};
}

void Strangers::greeted(int fd) {
  const auto it = all_.find(fd);
  if (it != all_.end()) it->second.greeted = true;
}

void Strangers::remove(int fd) {
  const auto it = all_.find(fd);
  if (it == all_.end()) return;
  const auto origin = of_origin_.find(it->second.origin);
  if (--origin->second == 0) of_origin_.erase(origin);
  all_.erase(it);
}

}  // namespace troupe
