// SPDX-License-Identifier: Apache-2.0
#include "apps/troupe/doctor/doctor.hpp"

#include "apps/troupe/doctor/probes.hpp"
#include "tests/support/scratch.hpp"

#include <boost/test/unit_test.hpp>
#include <sys/stat.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>

using namespace troupe;
using namespace troupe::doctor;

namespace {

namespace fs = std::filesystem;

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// A troupe-train that is a shell script.
class FakeTrainer {
 public:
  explicit FakeTrainer(const std::string& script) {
    std::ofstream(folder_ / "troupe-train") << "#!/bin/sh\n" << script;
    chmod((folder_ / "troupe-train").c_str(), 0755);
  }

  [[nodiscard]] const fs::path& folder() const { return folder_.path(); }

 private:
  test::Scratch folder_;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(doctor_probes)

BOOST_AUTO_TEST_CASE(every_probe_reports_on_this_machine_whatever_it_has) {
  const FakeTrainer trainer("echo torch=2.0 blas=openblas capability=AVX2 threads=2\n");
  std::set<std::string> rows;
  for (const auto& finding : examine(trainer.folder())) {
    BOOST_TEST(!finding.found.empty(), finding.what);
    BOOST_TEST(!finding.means.empty(), finding.what);
    rows.insert(finding.what);
  }
  for (const std::string what : {"caf", "ucx", "rdma", "cma", "kvm", "cuda", "nccl", "torch",
                                 "cores", "memory", "memlock", "shared memory", "cgroups"}) {
    BOOST_TEST(rows.count(what) == 1u, what);
  }
}

BOOST_AUTO_TEST_CASE(ucx_without_rdma_says_how_bulk_data_goes) {
  const auto findings = explain(UcxFacts{"1.13.1", {"self", "tcp", "cma"}, {"host"}, ""});
  BOOST_REQUIRE(findings.size() == 3u);
  BOOST_TEST(findings[1].found == "self, tcp, cma");
  BOOST_TEST(findings[1].means == "this version uses tcp alone, between machines and within one");
  BOOST_TEST((findings[2].verdict == Verdict::note));
}

BOOST_AUTO_TEST_CASE(ucx_with_rdma_and_cuda_says_so) {
  const auto findings = explain(UcxFacts{"1.18.0", {"tcp", "rc_mlx5"}, {"host", "cuda"}, ""});
  BOOST_TEST(has(findings[1].means, "tcp alone"));
  BOOST_TEST((findings[2].verdict == Verdict::ok));
}

BOOST_AUTO_TEST_CASE(ucx_that_is_broken_or_lacks_tcp_is_missing) {
  BOOST_TEST(
      (explain(UcxFacts{"1.13.1", {}, {}, "No such device"})[0].verdict == Verdict::missing));
  BOOST_TEST((explain(UcxFacts{"1.13.1", {"self"}, {"host"}, ""})[1].verdict == Verdict::missing));
}

BOOST_AUTO_TEST_CASE(rdma_ports_are_listed_with_their_state) {
  BOOST_TEST(explain(RdmaFacts{})[0].found == "no device");
  BOOST_TEST(explain(RdmaFacts{})[0].means == "data goes over TCP");
  const auto up = explain(RdmaFacts{{"mlx5_0"}, {{"mlx5_0", 1, true, "InfiniBand"}}});
  BOOST_TEST(up[0].found == "mlx5_0:1 InfiniBand active");
  BOOST_TEST((up[0].verdict == Verdict::ok));
  BOOST_TEST(has(up[0].means, "not used by this version"));
  const auto down = explain(RdmaFacts{{"mlx5_0"}, {{"mlx5_0", 1, false, "Ethernet"}}});
  BOOST_TEST((down[0].verdict == Verdict::note));
  BOOST_TEST(explain(RdmaFacts{{"mlx5_0"}, {}})[0].found == "mlx5_0");
}

BOOST_AUTO_TEST_CASE(a_device_that_is_absent_or_is_no_kvm_is_no_error) {
  BOOST_TEST(look_at_kvm("/nowhere/kvm").error == ENOENT);
  const auto null = look_at_kvm("/dev/null");
  BOOST_TEST(null.open);
  BOOST_TEST((explain(null)[0].verdict == Verdict::missing));
}

BOOST_AUTO_TEST_CASE(kvm_is_told_with_its_reason_and_its_tracking_of_written_pages) {
  KvmFacts facts;
  facts.error = EACCES;
  BOOST_TEST(has(explain(facts)[0].means, "join the group"));
  facts.error = ENOENT;
  BOOST_TEST(explain(facts)[0].means == "no virtual machines on this machine");
  facts = {true, 0, 12, 288, 509, true, true};
  BOOST_TEST(explain(facts)[0].found == "API version 12, up to 288 vCPUs, 509 memory slots");
  BOOST_TEST(explain(facts)[1].found == "dirty ring");
  facts.dirty_ring = false;
  BOOST_TEST(explain(facts)[1].found == "bitmap with manual protection");
}

BOOST_AUTO_TEST_CASE(gpus_and_their_libraries_are_told_apart) {
  CudaFacts facts;
  BOOST_TEST(explain(facts)[0].means == "training runs on the CPU");
  BOOST_TEST(explain(facts)[1].found == "not installed (libnccl.so.2)");
  facts = {true, "", 12040, {"H200", "H200"}, 22105};
  BOOST_TEST(explain(facts)[0].found == "driver 12.4: H200, H200");
  BOOST_TEST(explain(facts)[1].found == "2.21.5");
  facts = {true, "cuInit answered 100", 12040, {}, 2803};
  BOOST_TEST(explain(facts)[0].found == "driver 12.4, does not start: cuInit answered 100");
  BOOST_TEST(explain(facts)[1].found == "2.8.3");
}

BOOST_AUTO_TEST_CASE(torch_is_asked_for_in_the_program_that_links_it) {
  const FakeTrainer trainer(
      "echo torch=1.13.1\necho 'blas=open blas'\necho capability=AVX2 threads=4\n");
  const auto facts = look_at_torch(trainer.folder());
  BOOST_TEST(facts.version == "1.13.1");
  BOOST_TEST(facts.blas == "open blas");
  BOOST_TEST(facts.capability == "AVX2");
  BOOST_TEST(facts.threads == "4");
  BOOST_TEST((explain(facts)[0].verdict == Verdict::ok));
}

BOOST_AUTO_TEST_CASE(a_torch_program_that_is_absent_or_broken_is_told) {
  BOOST_TEST(has(explain(TorchFacts{})[0].found, "neither beside troupe nor on PATH"));
  const FakeTrainer failing("echo torch=1.13.1\nexit 3\n");
  BOOST_TEST(look_at_torch(failing.folder()).error == "exit status 3");
  const FakeTrainer dying("kill -9 $$\n");
  BOOST_TEST(look_at_torch(dying.folder()).error == "ended by Killed");
  const FakeTrainer dumb("echo hello\n");
  const auto facts = look_at_torch(dumb.folder());
  BOOST_TEST(facts.error == "its answer names no torch version");
  BOOST_TEST((explain(facts)[0].verdict == Verdict::missing));
}

BOOST_AUTO_TEST_CASE(torch_without_a_fast_blas_is_a_note) {
  const auto facts = parse_about("torch=1.13.1 blas=generic capability=DEFAULT threads=1");
  BOOST_TEST((explain(facts)[1].verdict == Verdict::note));
  BOOST_TEST(has(explain(facts)[1].means, "libopenblas0-pthread"));
}

BOOST_AUTO_TEST_CASE(memory_of_other_processes_that_cannot_be_read_is_told_with_its_reason) {
  BOOST_TEST((explain(CmaFacts{0, true, 0})[0].verdict == Verdict::ok));
  const auto yama = explain(CmaFacts{1, false, EPERM})[0];
  BOOST_TEST(has(yama.found, "ptrace_scope is 1"));
  BOOST_TEST(has(yama.means, "nothing: this version sends over TCP"));
  const auto filtered = explain(CmaFacts{-1, false, ENOSYS})[0];
  BOOST_TEST(!has(filtered.found, "ptrace_scope"));
}

BOOST_AUTO_TEST_SUITE_END()
