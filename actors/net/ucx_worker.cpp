// SPDX-License-Identifier: Apache-2.0
//
// UCX sends small payloads eagerly and fetches large ones by rendezvous into memory that we get
// then.
#include "actors/net/ucx_worker.hpp"

#include <ucp/api/ucp.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <string_view>
#include <utility>

namespace troupe {
namespace {

constexpr unsigned frame_am_id = 1;

Failure ucx_error(const std::string& call, ucs_status_t status) {
  return fail(ErrorCode::unavailable, call + ": " + ucs_status_string(status));
}

}  // namespace

/// Keeps a message alive until UCX has sent it.
struct UcxWorker::Sending {
  Sending(UcxWorker* from, Sealed sealed, std::shared_ptr<std::size_t> sum)
      : worker(from), message(std::move(sealed)), size(message.size()), held(std::move(sum)) {
    *held += size;
    ++worker->outstanding_;
  }
  ~Sending() {
    *held -= size;
    --worker->outstanding_;
  }
  Sending(const Sending&) = delete;

  UcxWorker* worker;
  Sealed message;
  std::size_t size;
  std::shared_ptr<std::size_t> held;
};

/// A payload on its way by rendezvous.
struct UcxWorker::Receiving {
  Receiving(UcxWorker* to, Buffer message_header, Buffer memory, std::shared_ptr<std::size_t> sum)
      : worker(to),
        header(std::move(message_header)),
        payload(std::move(memory)),
        on_its_way(std::move(sum)) {
    *on_its_way += payload.size;
    ++worker->outstanding_;
  }
  ~Receiving() {
    *on_its_way -= payload_size;
    --worker->outstanding_;
  }
  Receiving(const Receiving&) = delete;

  UcxWorker* worker;
  Buffer header;
  Buffer payload;
  std::size_t payload_size = payload.size;
  std::shared_ptr<std::size_t> on_its_way;
};

/// Who wants to know when an endpoint fails.
struct UcxWorker::Watch {
  ucp_ep* endpoint = nullptr;
  std::function<void(const Error&)> failed;
};

struct UcxWorker::Glue {
  static ucs_status_t on_message(void* self, const void* header, std::size_t header_length,
                                 void* data, std::size_t length, const ucp_am_recv_param_t* param) {
    auto* worker = static_cast<UcxWorker*>(self);
    const bool rendezvous = (param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) != 0;
    return static_cast<ucs_status_t>(worker->arrived(
        {static_cast<const std::byte*>(header), header_length}, data, length, rendezvous));
  }

  static void on_received(void* request, ucs_status_t status, std::size_t, void* user) {
    const std::unique_ptr<Receiving> done(static_cast<Receiving*>(user));
    if (request != nullptr) ucp_request_free(request);
    if (status != UCS_OK) return;  // the endpoint's failure is reported by itself
    done->worker->callbacks_.message(std::move(done->header), std::move(done->payload));
  }

  static void on_sent(void* request, ucs_status_t, void* user) {
    delete static_cast<Sending*>(user);
    ucp_request_free(request);
  }

  static void on_failed(void* user, ucp_ep_h, ucs_status_t status) {
    auto* watch = static_cast<Watch*>(user);
    if (auto failed = std::exchange(watch->failed, nullptr)) {
      failed(
          {ErrorCode::unavailable, std::string("connection lost: ") + ucs_status_string(status)});
    }
  }
};

void UcxWorker::set_environment(bool loopback) {
  using Settings = std::initializer_list<std::pair<const char*, const char*>>;
  const auto set = [](Settings settings) {
    for (const auto& [name, value] : settings) ::setenv(name, value, 0);
  };
  set({{"UCX_TLS", "tcp"}, {"UCX_RNDV_THRESH", "128k"}, {"UCX_KEEPALIVE_INTERVAL", "1s"}});
  // UCX complains on standard output about settings of transports that it does not use.
  const std::string_view transports = ::getenv("UCX_TLS");
  const auto uses = [&](std::string_view name) {
    return transports.find(name) != std::string_view::npos;
  };
  if (uses("tcp")) {
    set({{"UCX_TCP_TX_SEG_SIZE", "64k"},
         {"UCX_TCP_KEEPIDLE", "1s"},
         {"UCX_TCP_KEEPINTVL", "1s"},
         {"UCX_TCP_KEEPCNT", "3"}});
    if (loopback) set({{"UCX_NET_DEVICES", "lo"}, {"UCX_MAX_RNDV_RAILS", "1"}});
  }
  // Without these, peers that may die cannot be reached through shared memory.
  if (uses("posix")) set({{"UCX_POSIX_ERROR_HANDLING", "y"}});
  if (uses("sysv")) set({{"UCX_SYSV_ERROR_HANDLING", "y"}});
}

Result<std::unique_ptr<UcxWorker>> UcxWorker::make(Callbacks callbacks) {
  std::unique_ptr<UcxWorker> worker(new UcxWorker(std::move(callbacks)));
  if (auto created = worker->create(); !created) return Failure(created.error());
  if (auto set = worker->set_receiver(); !set) return Failure(set.error());
  return worker;
}

Result<void> UcxWorker::create() {
  ucp_params_t params{};
  params.field_mask = UCP_PARAM_FIELD_FEATURES;
  // No RMA: over TCP UCX would write to whatever address a packet names.
  params.features = UCP_FEATURE_AM | UCP_FEATURE_WAKEUP;
  if (const auto status = ucp_init(&params, nullptr, &context_); status != UCS_OK) {
    return ucx_error("UCX cannot start (UCX_TLS, UCX_NET_DEVICES name what it may use)", status);
  }
  ucp_worker_params_t worker_params{};
  worker_params.field_mask =
      UCP_WORKER_PARAM_FIELD_THREAD_MODE | UCP_WORKER_PARAM_FIELD_AM_ALIGNMENT;
  // One thread after the other: this one makes the worker, the progress thread takes it over.
  // UCX 1.18 aborts when a SINGLE worker is used by another thread than the one that made it.
  worker_params.thread_mode = UCS_THREAD_MODE_SERIALIZED;
  worker_params.am_alignment = 64;
  if (const auto status = ucp_worker_create(context_, &worker_params, &worker_); status != UCS_OK) {
    return ucx_error("ucp_worker_create", status);
  }
  if (const auto status = ucp_worker_get_efd(worker_, &event_fd_); status != UCS_OK) {
    return ucx_error("ucp_worker_get_efd", status);
  }
  ucp_worker_attr_t attributes{};
  attributes.field_mask = UCP_WORKER_ATTR_FIELD_MAX_AM_HEADER;
  if (const auto status = ucp_worker_query(worker_, &attributes); status != UCS_OK) {
    return ucx_error("ucp_worker_query", status);
  }
  header_limit_ = std::min<std::size_t>(attributes.max_am_header, 8000);
  return {};
}

Result<void> UcxWorker::set_receiver() {
  ucp_am_handler_param_t handler{};
  handler.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB |
                       UCP_AM_HANDLER_PARAM_FIELD_ARG | UCP_AM_HANDLER_PARAM_FIELD_FLAGS;
  handler.id = frame_am_id;
  handler.cb = Glue::on_message;
  handler.arg = this;
  handler.flags = UCP_AM_FLAG_WHOLE_MSG;
  const auto status = ucp_worker_set_am_recv_handler(worker_, &handler);
  if (status != UCS_OK) return ucx_error("ucp_worker_set_am_recv_handler", status);
  return {};
}

UcxWorker::UcxWorker(Callbacks callbacks) : callbacks_(std::move(callbacks)) {}

UcxWorker::~UcxWorker() {
  // UCX can lose a payload on its way, either way, when the peer goes just then, and asserts here
  // that it has not: what it holds is left to the end of the process.
  if (outstanding_ > 0) return;
  if (worker_ != nullptr) ucp_worker_destroy(worker_);
  if (context_ != nullptr) ucp_cleanup(context_);
}

Result<std::string> UcxWorker::address() const {
  ucp_address_t* address = nullptr;
  std::size_t length = 0;
  const auto status = ucp_worker_get_address(worker_, &address, &length);
  if (status != UCS_OK) return ucx_error("ucp_worker_get_address", status);
  std::string bytes(reinterpret_cast<const char*>(address), length);
  ucp_worker_release_address(worker_, address);
  return bytes;
}

bool UcxWorker::progress() {
  const bool moved = ucp_worker_progress(worker_) != 0;
  if (moved) idle_turns_ = 0;
  return moved;
}

bool UcxWorker::arm() {
  const auto status = ucp_worker_arm(worker_);
  // Where it cannot be armed the caller sleeps for its own time-out, rather than not at all.
  if (status != UCS_ERR_BUSY) {
    idle_turns_ = 0;
    return true;
  }
  ++idle_turns_;
  return false;
}

Result<ucp_ep*> UcxWorker::open(const std::string& worker_address,
                                std::function<void(const Error&)> failed) {
  auto watch = std::make_unique<Watch>();
  watch->failed = std::move(failed);
  ucp_ep_params_t params{};
  params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLER |
                      UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE;
  params.address = reinterpret_cast<const ucp_address_t*>(worker_address.data());
  params.err_mode = UCP_ERR_HANDLING_MODE_PEER;
  params.err_handler.cb = Glue::on_failed;
  params.err_handler.arg = watch.get();
  const auto status = ucp_ep_create(worker_, &params, &watch->endpoint);
  if (status != UCS_OK) return ucx_error("UCX cannot reach the peer", status);
  watches_.push_back(std::move(watch));
  return watches_.back()->endpoint;
}

void UcxWorker::close(ucp_ep* endpoint) {
  const auto watch = std::find_if(watches_.begin(), watches_.end(),
                                  [&](const auto& w) { return w->endpoint == endpoint; });
  if (watch == watches_.end()) return;
  (*watch)->failed = nullptr;
  ucp_request_param_t param{};
  param.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
  param.flags = UCP_EP_CLOSE_FLAG_FORCE;
  auto* request = ucp_ep_close_nbx(endpoint, &param);
  if (UCS_PTR_IS_PTR(request)) {
    while (ucp_request_check_status(request) == UCS_INPROGRESS) ucp_worker_progress(worker_);
    ucp_request_free(request);
  }
  // Found again: completions that ran while it closed may have changed the list.
  std::erase_if(watches_, [&](const auto& w) { return w->endpoint == endpoint; });
}

void UcxWorker::send(ucp_ep* endpoint, Sealed message, std::shared_ptr<std::size_t> held) {
  auto sending = std::make_unique<Sending>(this, std::move(message), std::move(held));
  ucp_request_param_t param{};
  param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
  param.cb.send = Glue::on_sent;
  param.user_data = sending.get();
  const auto& header = sending->message.header;
  const auto& payload = sending->message.payload;
  auto* request = ucp_am_send_nbx(endpoint, frame_am_id, header.data(), header.size(),
                                  payload.data(), payload.size(), &param);
  // Otherwise it is done, or has failed: the endpoint's failure is reported by itself.
  if (UCS_PTR_IS_PTR(request)) (void)sending.release();
}

int UcxWorker::arrived(std::span<const std::byte> header, void* data, std::size_t length,
                       bool rendezvous) {
  auto on_its_way = callbacks_.admit(header, length);
  if (on_its_way == nullptr) return UCS_OK;
  Buffer copy = pool_.get(header.size());
  if (copy.memory != nullptr) std::memcpy(copy.memory.get(), header.data(), header.size());
  if (copy.memory != nullptr && rendezvous) {
    return fetch(std::move(copy), data, length, std::move(on_its_way));
  }
  Buffer payload = pool_.get(length);
  if (copy.memory == nullptr || payload.memory == nullptr) {
    callbacks_.bad(header, {ErrorCode::resource_exhausted, "no memory for a message"});
    return UCS_OK;
  }
  if (length > 0) std::memcpy(payload.memory.get(), data, length);
  callbacks_.message(std::move(copy), std::move(payload));
  return UCS_OK;
}

int UcxWorker::fetch(Buffer header, void* data, std::size_t length,
                     std::shared_ptr<std::size_t> on_its_way) {
  auto receiving = std::make_unique<Receiving>(this, std::move(header), pool_.get(length),
                                               std::move(on_its_way));
  if (receiving->payload.memory == nullptr) {
    callbacks_.bad(receiving->header.bytes(),
                   {ErrorCode::resource_exhausted,
                    "no memory for a payload of " + std::to_string(length) + " bytes"});
    return UCS_OK;
  }
  ucp_request_param_t param{};
  param.op_attr_mask =
      UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FLAG_NO_IMM_CMPL;
  param.cb.recv_am = Glue::on_received;
  param.user_data = receiving.get();
  auto* request =
      ucp_am_recv_data_nbx(worker_, data, receiving->payload.memory.get(), length, &param);
  if (!UCS_PTR_IS_ERR(request)) (void)receiving.release();
  return UCS_INPROGRESS;
}

}  // namespace troupe
