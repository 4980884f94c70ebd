// SPDX-License-Identifier: Apache-2.0
#include "apps/troupe/doctor/probes.hpp"

#include <ucp/api/ucp.h>
#include <ucs/memory/memory_type.h>
#include <uct/api/uct.h>

#include <algorithm>
#include <memory>

namespace troupe::doctor {
namespace {

template <class T, auto free_fn>
struct Release {
  void operator()(T* handle) const { free_fn(handle); }
};
template <class T, auto free_fn>
using Handle = std::unique_ptr<T, Release<T, free_fn>>;

using Context = Handle<ucp_context, ucp_cleanup>;
using Config = Handle<ucp_config_t, ucp_config_release>;
using MemoryDomain = Handle<uct_md, uct_md_close>;
using DomainConfig = Handle<uct_md_config_t, [](uct_md_config_t* c) { uct_config_release(c); }>;

void add_once(std::vector<std::string>& to, const std::string& word) {
  if (std::find(to.begin(), to.end(), word) == to.end()) to.push_back(word);
}

void add_transports(uct_component_h component, const char* domain, UcxFacts& facts) {
  uct_md_config_t* raw_config = nullptr;
  if (uct_md_config_read(component, nullptr, nullptr, &raw_config) != UCS_OK) return;
  const DomainConfig config(raw_config);
  uct_md_h raw_domain = nullptr;
  if (uct_md_open(component, domain, config.get(), &raw_domain) != UCS_OK) return;
  const MemoryDomain opened(raw_domain);
  uct_tl_resource_desc_t* resources = nullptr;
  unsigned count = 0;
  if (uct_md_query_tl_resources(opened.get(), &resources, &count) != UCS_OK) return;
  for (unsigned i = 0; i < count; ++i) add_once(facts.transports, resources[i].tl_name);
  uct_release_tl_resource_list(resources);
}

void add_component(uct_component_h component, UcxFacts& facts) {
  uct_component_attr_t attr{};
  attr.field_mask = UCT_COMPONENT_ATTR_FIELD_MD_RESOURCE_COUNT;
  if (uct_component_query(component, &attr) != UCS_OK) return;
  std::vector<uct_md_resource_desc_t> domains(attr.md_resource_count);
  attr.field_mask = UCT_COMPONENT_ATTR_FIELD_MD_RESOURCES;
  attr.md_resources = domains.data();
  if (uct_component_query(component, &attr) != UCS_OK) return;
  for (const auto& domain : domains) add_transports(component, domain.md_name, facts);
}

void look_at_transports(UcxFacts& facts) {
  uct_component_h* components = nullptr;
  unsigned count = 0;
  if (uct_query_components(&components, &count) != UCS_OK) return;
  for (unsigned i = 0; i < count; ++i) add_component(components[i], facts);
  uct_release_component_list(components);
}

void look_at_memory(UcxFacts& facts) {
  ucp_config_t* raw_config = nullptr;
  auto status = ucp_config_read(nullptr, nullptr, &raw_config);
  if (status != UCS_OK) {
    facts.error = ucs_status_string(status);
    return;
  }
  const Config config(raw_config);
  ucp_params_t params{};
  params.field_mask = UCP_PARAM_FIELD_FEATURES;
  params.features = UCP_FEATURE_AM | UCP_FEATURE_WAKEUP;
  ucp_context_h raw_context = nullptr;
  status = ucp_init(&params, config.get(), &raw_context);
  if (status != UCS_OK) {
    facts.error = ucs_status_string(status);
    return;
  }
  const Context context(raw_context);
  ucp_context_attr_t attr{};
  attr.field_mask = UCP_ATTR_FIELD_MEMORY_TYPES;
  if (ucp_context_query(context.get(), &attr) != UCS_OK) return;
  for (int type = 0; type < UCS_MEMORY_TYPE_LAST; ++type) {
    if ((attr.memory_types >> type & 1) != 0)
      facts.memory_types.emplace_back(ucs_memory_type_names[type]);
  }
}

bool has(const std::vector<std::string>& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

}  // namespace

UcxFacts look_at_ucx() {
  UcxFacts facts;
  facts.version = ucp_get_version_string();
  look_at_memory(facts);
  look_at_transports(facts);
  return facts;
}

Findings explain(const UcxFacts& facts) {
  if (!facts.error.empty()) {
    return {{"ucx", Verdict::missing, facts.version + ", does not start: " + facts.error,
             "nodes cannot talk to each other; see what UCX_LOG_LEVEL=info prints"}};
  }
  Findings findings = {{"ucx", Verdict::ok, facts.version, "nodes talk to each other"}};
  if (!has(facts.transports, "tcp")) {
    findings.push_back({"ucx transports", Verdict::missing, joined(facts.transports),
                        "no tcp, and this version uses nothing else: nodes cannot talk"});
  } else {
    findings.push_back({"ucx transports", Verdict::ok, joined(facts.transports),
                        "this version uses tcp alone, between machines and within one"});
  }
  const bool cuda = has(facts.memory_types, "cuda");
  findings.push_back({"ucx memory", cuda ? Verdict::ok : Verdict::note, joined(facts.memory_types),
                      "this version sends from host memory alone"});
  return findings;
}

}  // namespace troupe::doctor
