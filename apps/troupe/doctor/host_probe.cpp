// SPDX-License-Identifier: Apache-2.0
#include "apps/troupe/doctor/probes.hpp"

#include <caf/config.hpp>
#include <sched.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

namespace troupe::doctor {
namespace {

namespace fs = std::filesystem;

std::string first_line(const fs::path& file) {
  std::string line;
  std::ifstream in(file);
  std::getline(in, line);
  return line;
}

// "MemTotal:       24689764 kB"
Bytes meminfo(const fs::path& root, const std::string& key) {
  std::ifstream in(root / "proc/meminfo");
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    std::string name;
    std::uint64_t kib = 0;
    if (words >> name >> kib && name == key + ":") return {kib << 10};
  }
  return {};
}

std::optional<std::uint64_t> number_in(const fs::path& file) {
  std::ifstream in(file);
  std::uint64_t number = 0;
  if (in >> number) return number;
  return std::nullopt;
}

// The folder of this process's cgroup: its own where it can be seen, else the root of the
// hierarchy.
fs::path cgroup_folder(const fs::path& root, const fs::path& mount, const std::string& controller) {
  std::ifstream in(root / "proc/self/cgroup");
  for (std::string line; std::getline(in, line);) {
    const auto first = line.find(':');
    const auto second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const auto names = "," + line.substr(first + 1, second - first - 1) + ",";
    if (names != "," + controller + "," && names.find("," + controller + ",") == std::string::npos)
      continue;
    const auto own = mount / fs::path(line.substr(second + 1)).relative_path();
    std::error_code error;
    return fs::exists(own, error) ? own : mount;
  }
  return mount;
}

void look_at_cgroup2(const fs::path& root, HostFacts& facts) {
  const auto folder = cgroup_folder(root, root / "sys/fs/cgroup", "");
  facts.cgroup_version = 2;
  facts.cgroup_writable = access((folder / "cgroup.procs").c_str(), W_OK) == 0;
  if (const auto limit = number_in(folder / "memory.max")) facts.memory_limit = Bytes{*limit};
  std::istringstream words(first_line(folder / "cpu.max"));  // "max 100000", "150000 100000"
  double quota = 0, period = 0;
  if (words >> quota >> period && period > 0) facts.cpu_quota = quota / period;
}

void look_at_cgroup1(const fs::path& root, HostFacts& facts) {
  const auto mount = root / "sys/fs/cgroup";
  const auto memory = cgroup_folder(root, mount / "memory", "memory");
  const auto cpu = cgroup_folder(root, mount / "cpu", "cpu");
  facts.cgroup_version = 1;
  facts.cgroup_writable = access((memory / "cgroup.procs").c_str(), W_OK) == 0;
  const auto limit = number_in(memory / "memory.limit_in_bytes");
  if (limit && *limit < 1ull << 60) facts.memory_limit = Bytes{*limit};  // no limit: almost 2^63
  const auto quota = number_in(cpu / "cpu.cfs_quota_us");
  const auto period = number_in(cpu / "cpu.cfs_period_us");
  if (quota && period && *period > 0 && *quota < 1ull << 60) {
    facts.cpu_quota = static_cast<double>(*quota) / static_cast<double>(*period);
  }
}

void look_at_cgroups(const fs::path& root, HostFacts& facts) {
  const auto mount = root / "sys/fs/cgroup";
  std::error_code error;
  if (fs::exists(mount / "cgroup.controllers", error)) return look_at_cgroup2(root, facts);
  if (fs::exists(mount / "memory", error)) look_at_cgroup1(root, facts);
}

unsigned usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) return 0;
  return static_cast<unsigned>(CPU_COUNT(&set));
}

std::string decimal(double number) {
  std::ostringstream out;
  out.precision(3);
  out << number;
  return out.str();
}

Finding explain_cores(const HostFacts& facts) {
  const bool capped = facts.cpu_quota && *facts.cpu_quota < facts.cores;
  return {"cores", capped ? Verdict::note : Verdict::ok,
          std::to_string(facts.cores) +
              (capped ? ", its cgroup allows the time of " + decimal(*facts.cpu_quota) : ""),
          "more busy actors than that share them"};
}

Finding explain_memory(const HostFacts& facts) {
  const bool capped = facts.memory_limit && *facts.memory_limit < facts.memory;
  return {"memory", capped ? Verdict::note : Verdict::ok,
          readable(facts.memory) + ", " + readable(facts.available) + " free" +
              (capped ? ", its cgroup allows " + readable(*facts.memory_limit) : ""),
          "all processes of a job on this machine share it"};
}

Finding explain_memlock(const HostFacts& facts) {
  if (!facts.memlock) {
    return {"memlock", Verdict::ok, "no limit", "nothing: this version locks no memory"};
  }
  return {"memlock", Verdict::ok, readable(*facts.memlock),
          "nothing: this version locks no memory"};
}

Finding explain_shared_memory(const HostFacts& facts) {
  return {"shared memory", Verdict::ok, readable(facts.shared_memory) + " free in /dev/shm",
          "nothing: this version puts no data there"};
}

Finding explain_cgroups(const HostFacts& facts) {
  if (facts.cgroup_version == 0) {
    return {"cgroups", Verdict::note, "none", "workers run without limits of their own"};
  }
  return {"cgroups", Verdict::ok,
          "version " + std::to_string(facts.cgroup_version) +
              (facts.cgroup_writable ? ", writable" : ", not writable"),
          "this version gives workers no limits of their own"};
}

}  // namespace

HostFacts look_at_host(const fs::path& root) {
  HostFacts facts;
  facts.cores = usable_cores();
  facts.memory = meminfo(root, "MemTotal");
  facts.available = meminfo(root, "MemAvailable");
  rlimit limit{};
  if (getrlimit(RLIMIT_MEMLOCK, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
    facts.memlock = Bytes{limit.rlim_cur};
  }
  struct statvfs shm {};
  if (statvfs((root / "dev/shm").c_str(), &shm) == 0)
    facts.shared_memory = Bytes{shm.f_bavail * shm.f_frsize};
  look_at_cgroups(root, facts);
  return facts;
}

Findings explain(const HostFacts& facts) {
  return {explain_cores(facts), explain_memory(facts), explain_memlock(facts),
          explain_shared_memory(facts), explain_cgroups(facts)};
}

Findings explain_caf() {
  const int version = CAF_VERSION;
  return {{"caf", Verdict::ok,
           std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
               std::to_string(version % 100),
           "actors run on it"}};
}

std::string joined(const std::vector<std::string>& words) {
  std::string all;
  for (const auto& word : words) all += (all.empty() ? "" : ", ") + word;
  return all.empty() ? "none" : all;
}

std::string readable(Bytes bytes) {
  constexpr const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  auto value = static_cast<double>(bytes.count);
  int unit = 0;
  while (value >= 1024 && unit < 4) {
    value /= 1024;
    ++unit;
  }
  return decimal(value) + " " + units[unit];
}

}  // namespace troupe::doctor
