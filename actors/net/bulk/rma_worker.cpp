// SPDX-License-Identifier: Apache-2.0
#include "actors/net/bulk/rma_worker.hpp"

#include "actors/base/log.hpp"

#include <poll.h>
#include <ucp/api/ucp.h>

#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <utility>

namespace troupe {
namespace {

Failure ucx_error(const std::string& call, ucs_status_t status) {
  return fail(ErrorCode::unavailable, call + ": " + ucs_status_string(status));
}

bool has_rdma_device() {
  std::error_code none;
  return std::filesystem::directory_iterator("/sys/class/infiniband", none) !=
         std::filesystem::directory_iterator();
}

}  // namespace

struct RmaWorker::Glue {
  static void on_failed(void*, ucp_ep_h, ucs_status_t) {}  // the reads that it fails say so
};

std::unique_ptr<RmaWorker> RmaWorker::from_environment() {
  const char* set = std::getenv("TROUPE_RMA");
  const std::string_view asked = set == nullptr ? "" : set;
  if (asked.empty()) return nullptr;
  if (asked != "rdma" && asked != "cma") {
    log_warn("TROUPE_RMA={} is ignored: it may be rdma or cma", asked);
    return nullptr;
  }
  auto made = make(asked == "rdma" ? RmaKind::rdma : RmaKind::cma);
  if (made) return std::move(*made);
  log_warn("TROUPE_RMA={}: {}", asked, made.error().what);
  return nullptr;
}

Result<std::unique_ptr<RmaWorker>> RmaWorker::make(RmaKind kind) {
  if (kind == RmaKind::rdma && !has_rdma_device()) {
    return fail(ErrorCode::unavailable, "this machine has no RDMA device");
  }
  std::unique_ptr<RmaWorker> worker(new RmaWorker);
  if (auto opened = worker->open(kind); !opened) return Failure(opened.error());
  worker->thread_ = std::thread([raw = worker.get()] { raw->run(); });
  return worker;
}

Result<void> RmaWorker::open(RmaKind kind) {
  with_errors_ = kind == RmaKind::rdma;
  ucp_config_t* config = nullptr;
  if (const auto status = ucp_config_read(nullptr, nullptr, &config); status != UCS_OK) {
    return ucx_error("ucp_config_read", status);
  }
  // cma cannot introduce itself: posix does that.
  ucp_config_modify(config, "TLS", kind == RmaKind::rdma ? "rc,dc" : "posix,cma");
  ucp_config_modify(config, "NET_DEVICES", "all");
  ucp_params_t params{};
  params.field_mask = UCP_PARAM_FIELD_FEATURES;
  params.features = UCP_FEATURE_RMA | UCP_FEATURE_WAKEUP;
  const auto started = ucp_init(&params, config, &context_);
  ucp_config_release(config);
  if (started != UCS_OK) return ucx_error("UCX has no one-sided transport", started);
  ucp_worker_params_t worker_params{};
  worker_params.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
  worker_params.thread_mode = UCS_THREAD_MODE_MULTI;
  if (const auto status = ucp_worker_create(context_, &worker_params, &worker_); status != UCS_OK) {
    return ucx_error("ucp_worker_create", status);
  }
  ucp_worker_attr_t attributes{};
  attributes.field_mask = UCP_WORKER_ATTR_FIELD_THREAD_MODE;
  if (ucp_worker_query(worker_, &attributes) != UCS_OK ||
      attributes.thread_mode != UCS_THREAD_MODE_MULTI) {
    return fail(ErrorCode::unavailable, "this UCX was built without threads");
  }
  if (const auto status = ucp_worker_get_efd(worker_, &event_fd_); status != UCS_OK) {
    return ucx_error("ucp_worker_get_efd", status);
  }
  ucp_address_t* address = nullptr;
  std::size_t length = 0;
  if (const auto status = ucp_worker_get_address(worker_, &address, &length); status != UCS_OK) {
    return ucx_error("ucp_worker_get_address", status);
  }
  address_.assign(reinterpret_cast<const char*>(address), length);
  ucp_worker_release_address(worker_, address);
  return {};
}

RmaWorker::~RmaWorker() {
  stop_.signal();
  if (thread_.joinable()) thread_.join();
  while (!endpoints_.empty()) close(std::string(endpoints_.begin()->first));
  if (worker_ != nullptr) ucp_worker_destroy(worker_);
  if (context_ != nullptr) ucp_cleanup(context_);
}

void RmaWorker::run() {
  pollfd events[] = {{event_fd_, POLLIN, 0}, {stop_.fd(), POLLIN, 0}};
  while ((events[1].revents & POLLIN) == 0) {
    while (ucp_worker_progress(worker_) != 0) {
    }
    if (ucp_worker_arm(worker_) == UCS_OK) ::poll(events, 2, -1);
  }
}

Result<RmaRegistration> RmaWorker::grant(const BulkMemory& memory) {
  if (memory.bytes.empty()) return fail(ErrorCode::invalid_argument, "no bytes to read");
  ucp_mem_map_params_t params{};
  params.field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS | UCP_MEM_MAP_PARAM_FIELD_LENGTH |
                      UCP_MEM_MAP_PARAM_FIELD_PROT;
  params.prot = UCP_MEM_MAP_PROT_LOCAL_READ | UCP_MEM_MAP_PROT_REMOTE_READ;
  params.address = memory.bytes.data();
  params.length = memory.bytes.size();
  ucp_mem_h handle = nullptr;
  if (const auto status = ucp_mem_map(context_, &params, &handle); status != UCS_OK) {
    return ucx_error("ucp_mem_map", status);
  }
  RmaRegistration made;
  made.handle = std::shared_ptr<const void>(handle, [context = context_](const void* mapped) {
    ucp_mem_unmap(context, static_cast<ucp_mem_h>(const_cast<void*>(mapped)));
  });
  void* key = nullptr;
  std::size_t length = 0;
  if (const auto status = ucp_rkey_pack(context_, handle, &key, &length); status != UCS_OK) {
    return ucx_error("ucp_rkey_pack", status);
  }
  made.grant = {address_, std::string(static_cast<const char*>(key), length),
                reinterpret_cast<std::uint64_t>(memory.bytes.data())};
  ucp_rkey_buffer_release(key);
  return made;
}

Result<ucp_ep*> RmaWorker::endpoint_to(const std::string& worker) {
  if (const auto known = endpoints_.find(worker); known != endpoints_.end()) return known->second;
  ucp_ep_params_t params{};
  params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLER |
                      UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE;
  params.address = reinterpret_cast<const ucp_address_t*>(worker.data());
  params.err_mode = with_errors_ ? UCP_ERR_HANDLING_MODE_PEER : UCP_ERR_HANDLING_MODE_NONE;
  params.err_handler.cb = Glue::on_failed;
  ucp_ep* endpoint = nullptr;
  if (const auto status = ucp_ep_create(worker_, &params, &endpoint); status != UCS_OK) {
    return ucx_error("UCX cannot reach the peer one-sidedly", status);
  }
  endpoints_[worker] = endpoint;
  return endpoint;
}

void RmaWorker::close(const std::string& worker) {
  const auto it = endpoints_.find(worker);
  if (it == endpoints_.end()) return;
  ucp_request_param_t param{};
  param.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
  param.flags = with_errors_ ? unsigned{UCP_EP_CLOSE_FLAG_FORCE} : 0U;
  auto* request = ucp_ep_close_nbx(it->second, &param);
  endpoints_.erase(it);
  if (!UCS_PTR_IS_PTR(request)) return;
  while (ucp_request_check_status(request) == UCS_INPROGRESS) ucp_worker_progress(worker_);
  ucp_request_free(request);
}

Result<void> RmaWorker::get(const RmaGrant& grant, std::uint64_t offset, std::span<std::byte> to,
                            Deadline deadline) {
  if (to.empty()) return {};
  const std::lock_guard lock(mutex_);
  const auto endpoint = endpoint_to(grant.worker);
  if (!endpoint) return Failure(endpoint.error());
  ucp_rkey_h key = nullptr;
  if (const auto status = ucp_ep_rkey_unpack(*endpoint, grant.key.data(), &key); status != UCS_OK) {
    return ucx_error("ucp_ep_rkey_unpack", status);
  }
  const ucp_request_param_t param{};
  auto* request = ucp_get_nbx(*endpoint, to.data(), to.size(), grant.address + offset, key, &param);
  auto status = UCS_PTR_IS_PTR(request) ? UCS_INPROGRESS : UCS_PTR_STATUS(request);
  bool late = false;
  while (status == UCS_INPROGRESS) {
    ucp_worker_progress(worker_);
    status = ucp_request_check_status(request);
    if (!late && status == UCS_INPROGRESS && std::chrono::steady_clock::now() >= deadline) {
      late = true;  // closing ends the read: until then it may still write to `to`
      close(grant.worker);
    }
  }
  if (UCS_PTR_IS_PTR(request)) ucp_request_free(request);
  ucp_rkey_destroy(key);
  if (late) return fail(ErrorCode::timeout, "a one-sided read took too long");
  if (status != UCS_OK) {
    close(grant.worker);
    return ucx_error("a one-sided read failed", status);
  }
  return {};
}

}  // namespace troupe
