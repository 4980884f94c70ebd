// SPDX-License-Identifier: Apache-2.0
#include "apps/troupe/doctor/doctor.hpp"

#include "apps/troupe/doctor/isolate.hpp"
#include "apps/troupe/doctor/probes.hpp"

#include <functional>
#include <string>
#include <vector>

namespace troupe::doctor {

Findings examine(const std::filesystem::path& programs) {
  struct Probe {
    std::string what;
    std::function<Findings()> run;
  };
  const std::vector<Probe> probes = {
      {"caf", explain_caf},
      {"ucx", [] { return explain(look_at_ucx()); }},
      {"rdma", [] { return explain(look_at_rdma()); }},
      {"cma", [] { return explain(look_at_cma()); }},
      {"kvm", [] { return explain(look_at_kvm()); }},
      {"cuda", [] { return explain(look_at_cuda()); }},
      {"torch", [&programs] { return explain(look_at_torch(programs)); }},
      {"host", [] { return explain(look_at_host()); }},
  };
  constexpr Millis limit{20'000};
  Findings all;
  for (const auto& probe : probes) {
    for (auto& finding : isolated(probe.what, limit, probe.run)) all.push_back(std::move(finding));
  }
  return all;
}

}  // namespace troupe::doctor
