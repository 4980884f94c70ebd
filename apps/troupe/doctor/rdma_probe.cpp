// SPDX-License-Identifier: Apache-2.0
#include "apps/troupe/doctor/probes.hpp"

#include <infiniband/verbs.h>

#include <memory>

namespace troupe::doctor {
namespace {

struct CloseDevice {
  void operator()(ibv_context* device) const { ibv_close_device(device); }
};

void add_ports(ibv_device* device, RdmaFacts& facts) {
  const std::unique_ptr<ibv_context, CloseDevice> opened(ibv_open_device(device));
  ibv_device_attr attr{};
  if (!opened || ibv_query_device(opened.get(), &attr) != 0) return;
  for (int number = 1; number <= attr.phys_port_cnt; ++number) {
    ibv_port_attr port{};
    if (ibv_query_port(opened.get(), static_cast<std::uint8_t>(number), &port) != 0) continue;
    facts.ports.push_back({ibv_get_device_name(device), number, port.state == IBV_PORT_ACTIVE,
                           port.link_layer == IBV_LINK_LAYER_ETHERNET ? "Ethernet" : "InfiniBand"});
  }
}

}  // namespace

RdmaFacts look_at_rdma() {
  RdmaFacts facts;
  int count = 0;
  ibv_device** devices = ibv_get_device_list(&count);
  for (int i = 0; devices != nullptr && i < count; ++i) {
    facts.devices.emplace_back(ibv_get_device_name(devices[i]));
    add_ports(devices[i], facts);
  }
  if (devices != nullptr) ibv_free_device_list(devices);
  return facts;
}

Findings explain(const RdmaFacts& facts) {
  if (facts.devices.empty()) {
    return {{"rdma", Verdict::note, "no device", "data goes over TCP"}};
  }
  bool active = false;
  std::vector<std::string> ports;
  for (const auto& port : facts.ports) {
    active = active || port.active;
    ports.push_back(port.device + ":" + std::to_string(port.port) + " " + port.link +
                    (port.active ? " active" : " down"));
  }
  return {{"rdma", active ? Verdict::ok : Verdict::note,
           joined(ports.empty() ? facts.devices : ports),
           active ? "not used by this version: data goes over TCP"
                  : "no port is active: data goes over TCP"}};
}

}  // namespace troupe::doctor
