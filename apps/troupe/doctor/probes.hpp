// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "apps/troupe/doctor/finding.hpp"
#include "messages/units.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// Each probe is two functions: `look_at_x` asks the machine and returns facts, `explain` turns
// facts into findings and asks nothing, so that machines which no test has can be played with
// made-up facts.

namespace troupe::doctor {

struct UcxFacts {
  std::string version;
  std::vector<std::string> transports;    ///< "tcp", "cma", "rc_mlx5", each once
  std::vector<std::string> memory_types;  ///< "host", "cuda"
  std::string error;                      ///< why the rest is unknown
};
[[nodiscard]] UcxFacts look_at_ucx();
[[nodiscard]] Findings explain(const UcxFacts& facts);

struct RdmaPort {
  std::string device;
  int port = 0;
  bool active = false;
  std::string link;  ///< "InfiniBand", "Ethernet"
};
struct RdmaFacts {
  std::vector<std::string> devices;
  std::vector<RdmaPort> ports;
};
[[nodiscard]] RdmaFacts look_at_rdma();
[[nodiscard]] Findings explain(const RdmaFacts& facts);

struct KvmFacts {
  bool open = false;
  int error = 0;  ///< errno of opening it
  int api_version = 0;
  int max_vcpus = 0;
  int memory_slots = 0;
  bool dirty_ring = false;
  bool dirty_log_protect = false;
};
[[nodiscard]] KvmFacts look_at_kvm(const std::string& device = "/dev/kvm");
[[nodiscard]] Findings explain(const KvmFacts& facts);

struct CudaFacts {
  bool driver = false;     ///< libcuda could be loaded
  std::string error;       ///< what its start said, if it failed
  int driver_version = 0;  ///< 12040 is 12.4
  std::vector<std::string> gpus;
  std::optional<int> nccl_version;  ///< 22105 is 2.21.5; empty: libnccl could not be loaded
};
[[nodiscard]] CudaFacts look_at_cuda();
[[nodiscard]] Findings explain(const CudaFacts& facts);

struct TorchFacts {
  bool program = false;  ///< troupe-train was found
  std::string error;     ///< it was found and would not answer
  std::string version, blas, capability, threads;
};
/// Reads `key=value` pairs as `troupe-train --about` prints them.
[[nodiscard]] TorchFacts parse_about(std::string_view text);
/// Asks the troupe-train in `folder`, or else the one on PATH.
[[nodiscard]] TorchFacts look_at_torch(const std::filesystem::path& folder);
[[nodiscard]] Findings explain(const TorchFacts& facts);

struct CmaFacts {
  int ptrace_scope = -1;  ///< of the Yama security module; -1: the kernel has none
  bool readable = false;  ///< one process read another's memory
  int error = 0;          ///< errno where it could not
};
/// Reads its parent's memory, so call it within `isolated`.
[[nodiscard]] CmaFacts look_at_cma();
[[nodiscard]] Findings explain(const CmaFacts& facts);

struct HostFacts {
  unsigned cores = 0;                 ///< that this process may use
  std::optional<double> cpu_quota;    ///< cores that its cgroup allows
  Bytes memory;                       ///< in the machine
  Bytes available;                    ///< free now
  std::optional<Bytes> memory_limit;  ///< that its cgroup allows
  std::optional<Bytes> memlock;       ///< most memory it may pin; empty: no limit
  Bytes shared_memory;                ///< free in /dev/shm
  int cgroup_version = 0;             ///< 2, 1, or 0 for none
  bool cgroup_writable = false;
};
/// Reads below `root`, so that a test can bring its own /proc and /sys.
[[nodiscard]] HostFacts look_at_host(const std::filesystem::path& root = "/");
[[nodiscard]] Findings explain(const HostFacts& facts);

/// The actor framework that this program was built with.
[[nodiscard]] Findings explain_caf();

/// "a, b, c"
[[nodiscard]] std::string joined(const std::vector<std::string>& words);
/// "1.5 GiB"
[[nodiscard]] std::string readable(Bytes bytes);

}  // namespace troupe::doctor
