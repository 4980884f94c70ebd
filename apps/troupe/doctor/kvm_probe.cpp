// SPDX-License-Identifier: Apache-2.0
#include "apps/troupe/doctor/probes.hpp"

#include <fcntl.h>
#include <linux/kvm.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace troupe::doctor {

KvmFacts look_at_kvm(const std::string& device) {
  KvmFacts facts;
  const int fd = open(device.c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0) {
    facts.error = errno;
    return facts;
  }
  const auto capability = [fd](int which) { return ioctl(fd, KVM_CHECK_EXTENSION, which); };
  facts.open = true;
  facts.api_version = ioctl(fd, KVM_GET_API_VERSION, 0);
  facts.max_vcpus = capability(KVM_CAP_MAX_VCPUS);
  facts.memory_slots = capability(KVM_CAP_NR_MEMSLOTS);
  facts.dirty_ring =
      capability(KVM_CAP_DIRTY_LOG_RING) > 0 || capability(KVM_CAP_DIRTY_LOG_RING_ACQ_REL) > 0;
  facts.dirty_log_protect = capability(KVM_CAP_MANUAL_DIRTY_LOG_PROTECT2) > 0;
  close(fd);
  return facts;
}

Findings explain(const KvmFacts& facts) {
  if (!facts.open) {
    const bool denied = facts.error == EACCES || facts.error == EPERM;
    return {{"kvm", Verdict::missing, std::strerror(facts.error),
             denied ? "no virtual machines for this user; join the group that owns /dev/kvm"
                    : "no virtual machines on this machine"}};
  }
  if (facts.api_version != KVM_API_VERSION) {
    return {{"kvm", Verdict::missing, "API version " + std::to_string(facts.api_version),
             "no virtual machines: version 12 is needed"}};
  }
  Findings findings = {{"kvm", Verdict::ok,
                        "API version 12, up to " + std::to_string(facts.max_vcpus) + " vCPUs, " +
                            std::to_string(facts.memory_slots) + " memory slots",
                        "virtual machines can run here; no command of this version starts one"}};
  if (facts.dirty_ring) {
    findings.push_back({"kvm dirty pages", Verdict::ok, "dirty ring", "not used by this version"});
  } else {
    findings.push_back({"kvm dirty pages", Verdict::note,
                        facts.dirty_log_protect ? "bitmap with manual protection" : "bitmap only",
                        "not used by this version"});
  }
  return findings;
}

}  // namespace troupe::doctor
