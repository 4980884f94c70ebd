// SPDX-License-Identifier: Apache-2.0
#include "apps/troupe/doctor/probes.hpp"
#include "tests/support/scratch.hpp"

#include <boost/test/unit_test.hpp>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

using namespace troupe;
using namespace troupe::doctor;

namespace {

namespace fs = std::filesystem;

// A folder that plays the root of a machine.
class FakeRoot : public test::Scratch {
 public:
  void write(const std::string& file, const std::string& text) const {
    fs::create_directories((*this / file).parent_path());
    std::ofstream(*this / file) << text;
  }
};

Finding row(const Findings& findings, const std::string& what) {
  for (const auto& finding : findings) {
    if (finding.what == what) return finding;
  }
  return {};
}

}  // namespace

BOOST_AUTO_TEST_SUITE(host_probe)

BOOST_AUTO_TEST_CASE(reads_memory_and_the_limits_of_a_unified_cgroup) {
  const FakeRoot root;
  root.write("proc/meminfo", "MemTotal:  8388608 kB\nMemFree: 5 kB\nMemAvailable:  4194304 kB\n");
  root.write("proc/self/cgroup", "0::/user/job\n");
  root.write("sys/fs/cgroup/cgroup.controllers", "cpu memory\n");
  root.write("sys/fs/cgroup/user/job/cgroup.procs", "");
  root.write("sys/fs/cgroup/user/job/memory.max", "1073741824\n");
  root.write("sys/fs/cgroup/user/job/cpu.max", "150000 100000\n");
  const auto facts = look_at_host(root.path());
  BOOST_TEST((facts.memory == 8_GiB));
  BOOST_TEST((facts.available == 4_GiB));
  BOOST_TEST(facts.cgroup_version == 2);
  BOOST_TEST((facts.memory_limit == 1_GiB));
  BOOST_TEST(facts.cpu_quota.value_or(0) == 1.5);
  BOOST_TEST(facts.cores >= 1u);
}

BOOST_AUTO_TEST_CASE(a_unified_cgroup_without_limits_has_none) {
  const FakeRoot root;
  root.write("proc/self/cgroup", "0::/\n");
  root.write("sys/fs/cgroup/cgroup.controllers", "");
  root.write("sys/fs/cgroup/memory.max", "max\n");
  root.write("sys/fs/cgroup/cpu.max", "max 100000\n");
  const auto facts = look_at_host(root.path());
  BOOST_TEST(!facts.memory_limit.has_value());
  BOOST_TEST(!facts.cpu_quota.has_value());
}

BOOST_AUTO_TEST_CASE(reads_the_limits_of_separate_hierarchies) {
  const FakeRoot root;
  root.write("proc/self/cgroup", "4:memory:/job\n1:cpu,cpuacct:/job\n0::/\n");
  root.write("sys/fs/cgroup/memory/job/memory.limit_in_bytes", "536870912\n");
  root.write("sys/fs/cgroup/cpu/job/cpu.cfs_quota_us", "50000\n");
  root.write("sys/fs/cgroup/cpu/job/cpu.cfs_period_us", "100000\n");
  const auto facts = look_at_host(root.path());
  BOOST_TEST(facts.cgroup_version == 1);
  BOOST_TEST((facts.memory_limit == 512_MiB));
  BOOST_TEST(facts.cpu_quota.value_or(0) == 0.5);
}

BOOST_AUTO_TEST_CASE(no_quota_and_no_limit_of_separate_hierarchies_are_none) {
  const FakeRoot root;
  root.write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  root.write("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
  root.write("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  const auto facts = look_at_host(root.path());
  BOOST_TEST(!facts.memory_limit.has_value());
  BOOST_TEST(!facts.cpu_quota.has_value());
}

BOOST_AUTO_TEST_CASE(a_machine_that_shows_nothing_is_no_error) {
  const FakeRoot root;
  const auto facts = look_at_host(root.path());
  BOOST_TEST((facts.memory == 0_B));
  BOOST_TEST(row(explain(facts), "cgroups").found == "none");
}

BOOST_AUTO_TEST_CASE(limits_are_told_where_they_bind) {
  HostFacts facts;
  facts.cores = 8;
  facts.cpu_quota = 1.5;
  facts.memory = 16_GiB;
  facts.available = 1536_MiB;
  facts.memory_limit = 2_GiB;
  facts.memlock = 8_MiB;
  facts.shared_memory = 64_MiB;
  const auto findings = explain(facts);
  BOOST_TEST(row(findings, "cores").found == "8, its cgroup allows the time of 1.5");
  BOOST_TEST(row(findings, "memory").found == "16 GiB, 1.5 GiB free, its cgroup allows 2 GiB");
  BOOST_TEST(row(findings, "memlock").found == "8 MiB");
}

BOOST_AUTO_TEST_CASE(what_this_version_does_not_use_has_no_consequences) {
  HostFacts facts;
  facts.memlock = 64_KiB;
  facts.cgroup_version = 2;
  facts.cgroup_writable = true;
  const auto findings = explain(facts);
  for (const auto* what : {"memlock", "shared memory", "cgroups"}) {
    BOOST_TEST((row(findings, what).verdict == Verdict::ok), what);
    BOOST_TEST(row(findings, what).means.find("this version") != std::string::npos, what);
  }
}

BOOST_AUTO_TEST_SUITE_END()
