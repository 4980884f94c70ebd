// SPDX-License-Identifier: Apache-2.0
// The GPU libraries are loaded and asked by name, never linked: most machines have none of them.
#include "apps/troupe/doctor/probes.hpp"

#include <dlfcn.h>

#include <memory>

namespace troupe::doctor {
namespace {

struct CloseLibrary {
  void operator()(void* library) const { dlclose(library); }
};
using Library = std::unique_ptr<void, CloseLibrary>;

template <class Function>
Function* symbol(const Library& library, const char* name) {
  return reinterpret_cast<Function*>(dlsym(library.get(), name));
}

void look_at_driver(CudaFacts& facts) {
  const Library cuda(dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL));
  if (!cuda) return;
  facts.driver = true;
  const auto init = symbol<int(unsigned)>(cuda, "cuInit");
  const auto version = symbol<int(int*)>(cuda, "cuDriverGetVersion");
  const auto count = symbol<int(int*)>(cuda, "cuDeviceGetCount");
  const auto name = symbol<int(char*, int, int)>(cuda, "cuDeviceGetName");
  if (init == nullptr || version == nullptr || count == nullptr || name == nullptr) {
    facts.error = "libcuda.so.1 lacks functions that every driver has";
    return;
  }
  version(&facts.driver_version);
  if (const int code = init(0); code != 0) {
    facts.error = "cuInit answered " + std::to_string(code);
    return;
  }
  int gpus = 0;
  if (count(&gpus) != 0) return;
  for (int gpu = 0; gpu < gpus; ++gpu) {
    char text[128] = {};
    facts.gpus.emplace_back(name(text, sizeof text - 1, gpu) == 0 ? text : "unnamed");
  }
}

void look_at_nccl(CudaFacts& facts) {
  const Library nccl(dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL));
  if (!nccl) return;
  int version = 0;
  if (const auto get = symbol<int(int*)>(nccl, "ncclGetVersion"); get != nullptr) get(&version);
  facts.nccl_version = version;
}

std::string nccl_text(int version) {  // 2.8.3 was 2803, 2.9.0 is 20900
  const int major = version < 10000 ? version / 1000 : version / 10000;
  const int rest = version < 10000 ? version % 1000 : version % 10000;
  return std::to_string(major) + "." + std::to_string(rest / 100) + "." +
         std::to_string(rest % 100);
}

Finding explain_gpus(const CudaFacts& facts) {
  if (!facts.driver) {
    return {"cuda", Verdict::note, "no driver (libcuda.so.1)", "training runs on the CPU"};
  }
  const auto version = "driver " + std::to_string(facts.driver_version / 1000) + "." +
                       std::to_string(facts.driver_version % 1000 / 10);
  if (!facts.error.empty()) {
    return {"cuda", Verdict::note, version + ", does not start: " + facts.error,
            "training runs on the CPU"};
  }
  if (facts.gpus.empty()) {
    return {"cuda", Verdict::note, version + ", no GPU", "training runs on the CPU"};
  }
  return {"cuda", Verdict::ok, version + ": " + joined(facts.gpus),
          "this version of Troupe trains on the CPU all the same"};
}

}  // namespace

CudaFacts look_at_cuda() {
  CudaFacts facts;
  look_at_driver(facts);
  look_at_nccl(facts);
  return facts;
}

Findings explain(const CudaFacts& facts) {
  Findings findings = {explain_gpus(facts)};
  findings.push_back(
      {"nccl", Verdict::note,
       facts.nccl_version ? nccl_text(*facts.nccl_version) : "not installed (libnccl.so.2)",
       facts.gpus.empty() ? "no GPU has gradients to exchange"
                          : "this version of Troupe exchanges gradients without it"});
  return findings;
}

}  // namespace troupe::doctor
