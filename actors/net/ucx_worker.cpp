// SPDX-License-Identifier: Apache-2.0
//
// A frame is one active message. Its AM header is the FrameHeader, followed by the body where that
// fits (about 8 KB); the AM payload is the blob. A body that does not fit opens the payload
// instead. UCX sends small payloads eagerly and fetches large ones by rendezvous into memory that
// we allocate then.
#include "actors/net/ucx_worker.hpp"

#include <ucp/api/ucp.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace troupe {
namespace {

constexpr unsigned frame_am_id = 1;

Failure ucx_error(const std::string& call, ucs_status_t status) {
  return fail(ErrorCode::unavailable, call + ": " + ucs_status_string(status));
}

/// Memory for a payload: 64-byte aligned, so that Cap'n Proto and vector code read it in place.
std::shared_ptr<std::byte> allocate(std::size_t size) {
  auto* memory = static_cast<std::byte*>(std::aligned_alloc(64, (size + 63) / 64 * 64));
  return {memory, [](std::byte* p) { std::free(p); }};
}

Slice copy_of(const void* data, std::size_t size) {
  if (size == 0) return {};
  auto memory = allocate(size);
  if (memory == nullptr) throw std::bad_alloc();
  std::memcpy(memory.get(), data, size);
  const std::span<const std::byte> bytes(memory.get(), size);
  return Slice(std::move(memory), bytes);
}

Slice join(const Slice& first, const Slice& second) {
  auto memory = allocate(first.size() + second.size());
  if (memory == nullptr) throw std::bad_alloc();
  std::memcpy(memory.get(), first.data(), first.size());
  std::memcpy(memory.get() + first.size(), second.data(), second.size());
  const std::span<const std::byte> bytes(memory.get(), first.size() + second.size());
  return Slice(std::move(memory), bytes);
}

}  // namespace

/// Keeps a frame alive until UCX has sent it.
struct UcxWorker::Sending {
  UcxWorker* worker;
  std::string header;
  Slice payload;
};

/// A payload on its way by rendezvous.
struct UcxWorker::Receiving {
  UcxWorker* worker;
  FrameHeader header;
  Slice body;
  std::shared_ptr<std::byte> memory;
  std::size_t size;
};

/// Who wants to know when an endpoint fails.
struct UcxWorker::Watch {
  ucp_ep* endpoint = nullptr;
  std::function<void(const Error&)> failed;
};

struct UcxWorker::Glue {
  static ucs_status_t on_message(void* self, const void* header, std::size_t header_length,
                                 void* data, std::size_t length, const ucp_am_recv_param_t* param) {
    int status = UCS_OK;
    const bool rendezvous = (param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) != 0;
    auto* worker = static_cast<UcxWorker*>(self);
    try {
      worker->arrived({static_cast<const std::byte*>(header), header_length}, data, length,
                      rendezvous, status);
    } catch (const std::exception& e) {  // decode boundary: counted and reported, never passed on
      worker->callbacks_.bad({ErrorCode::corrupt, e.what()});
    }
    return static_cast<ucs_status_t>(status);
  }

  static void on_received(void* request, ucs_status_t status, std::size_t, void* user) {
    const std::unique_ptr<Receiving> done(static_cast<Receiving*>(user));
    if (request != nullptr) ucp_request_free(request);
    if (status != UCS_OK) return;  // the endpoint's failure is reported by itself
    const std::span<const std::byte> bytes(done->memory.get(), done->size);
    done->worker->receive(done->header, std::move(done->body), Slice(done->memory, bytes));
  }

  static void on_sent(void* request, ucs_status_t, void* user) {
    release(static_cast<Sending*>(user));
    ucp_request_free(request);
  }

  static void release(Sending* sending) {
    sending->worker->in_flight_ -= sending->payload.size() + sending->header.size();
    delete sending;
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
  const std::pair<const char*, const char*> settings[] = {
      {"UCX_TLS", "tcp"},
      {"UCX_RNDV_THRESH", "128k"},
      {"UCX_TCP_TX_SEG_SIZE", "64k"},
      {"UCX_KEEPALIVE_INTERVAL", "1s"},
      {"UCX_TCP_KEEPIDLE", "1s"},
      {"UCX_TCP_KEEPINTVL", "1s"},
      {"UCX_TCP_KEEPCNT", "3"},
  };
  for (const auto& [name, value] : settings) ::setenv(name, value, 0);
  if (loopback) {
    ::setenv("UCX_NET_DEVICES", "lo", 0);
    ::setenv("UCX_MAX_RNDV_RAILS", "1", 0);
  }
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
  worker_params.thread_mode = UCS_THREAD_MODE_SINGLE;
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

bool UcxWorker::progress() { return ucp_worker_progress(worker_) != 0; }

bool UcxWorker::arm() { return ucp_worker_arm(worker_) == UCS_OK; }

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

void UcxWorker::send(ucp_ep* endpoint, Frame frame) {
  auto sending = std::make_unique<Sending>();
  sending->worker = this;
  frame.header.body_bytes = static_cast<std::uint32_t>(frame.body.size());
  sending->header.assign(reinterpret_cast<const char*>(&frame.header), sizeof frame.header);
  if (sending->header.size() + frame.body.size() <= header_limit_) {
    sending->header.append(reinterpret_cast<const char*>(frame.body.data()), frame.body.size());
    sending->payload = std::move(frame.blob);
  } else {
    sending->payload = frame.blob.empty() ? std::move(frame.body) : join(frame.body, frame.blob);
  }
  in_flight_ += sending->payload.size() + sending->header.size();
  ucp_request_param_t param{};
  param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
  param.cb.send = Glue::on_sent;
  param.user_data = sending.get();
  auto* request =
      ucp_am_send_nbx(endpoint, frame_am_id, sending->header.data(), sending->header.size(),
                      sending->payload.data(), sending->payload.size(), &param);
  auto* held = sending.release();
  // Done at once, or failed: the endpoint's failure is reported by itself.
  if (!UCS_PTR_IS_PTR(request)) Glue::release(held);
}

void UcxWorker::receive(const FrameHeader& header, Slice body, Slice payload) {
  Frame frame{header, std::move(body), {}};
  if (frame.body.size() == header.body_bytes) {
    frame.blob = std::move(payload);
  } else {  // the payload opens with the body
    const auto owner = std::make_shared<Slice>(std::move(payload));
    frame.body = Slice(owner, owner->bytes().first(header.body_bytes));
    frame.blob = Slice(owner, owner->bytes().subspan(header.body_bytes));
  }
  callbacks_.frame(std::move(frame));
}

void UcxWorker::arrived(std::span<const std::byte> bytes, void* data, std::size_t length,
                        bool rendezvous, int& status) {
  const auto header = parse_frame_header(bytes);
  if (!header) return callbacks_.bad(header.error());
  const auto inlined = bytes.subspan(sizeof(FrameHeader));
  const bool body_in_payload = inlined.empty() && header->body_bytes > 0;
  const auto limit = max_blob_bytes + (body_in_payload ? header->body_bytes : 0);
  if ((!body_in_payload && inlined.size() != header->body_bytes) ||
      (body_in_payload && length < header->body_bytes) || length > limit) {
    return callbacks_.bad({ErrorCode::corrupt, "a frame whose lengths do not fit together"});
  }
  if (!callbacks_.admit(*header, length)) return;
  Slice body = copy_of(inlined.data(), inlined.size());
  if (!rendezvous) return receive(*header, std::move(body), copy_of(data, length));

  auto memory = allocate(length);
  if (memory == nullptr) {
    return callbacks_.bad({ErrorCode::resource_exhausted,
                           "no memory for a payload of " + std::to_string(length) + " bytes"});
  }
  auto* receiving = new Receiving{this, *header, std::move(body), memory, length};
  ucp_request_param_t param{};
  param.op_attr_mask =
      UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FLAG_NO_IMM_CMPL;
  param.cb.recv_am = Glue::on_received;
  param.user_data = receiving;
  auto* request = ucp_am_recv_data_nbx(worker_, data, memory.get(), length, &param);
  status = UCS_INPROGRESS;
  if (UCS_PTR_IS_ERR(request)) delete receiving;
}

}  // namespace troupe
