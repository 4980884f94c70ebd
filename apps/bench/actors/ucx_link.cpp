// SPDX-License-Identifier: Apache-2.0
#include "apps/bench/actors/ucx_link.hpp"

#include <poll.h>
#include <ucp/api/ucp.h>

#include <algorithm>

namespace troupe::bench {
namespace {

Failure ucx_error(const std::string& call, ucs_status_t status) {
  return fail(ErrorCode::unavailable, call + ": " + ucs_status_string(status));
}

}  // namespace

struct UcxLink::Glue {
  template <Tag tag>
  static ucs_status_t on_message(void* self, const void*, std::size_t, void* data,
                                 std::size_t length, const ucp_am_recv_param_t* param) {
    auto& link = *static_cast<UcxLink*>(self);
    if ((param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) != 0) return fetch(link, data, length);
    link.on_message_(tag, {static_cast<const std::byte*>(data), length}, length);
    return UCS_OK;
  }

  static ucs_status_t fetch(UcxLink& link, void* data, std::size_t length) {
    if (link.buffers_.empty()) return UCS_OK;  // dropped: nobody expects it
    auto& into = link.buffers_[link.next_buffer_++ % link.buffers_.size()];
    ucp_request_param_t param{};
    param.op_attr_mask =
        UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FLAG_NO_IMM_CMPL;
    param.cb.recv_am = on_fetched;
    param.user_data = &link;
    ucp_am_recv_data_nbx(link.worker_, data, into.data(), std::min(length, into.size()), &param);
    return UCS_INPROGRESS;
  }

  static void on_fetched(void* request, ucs_status_t status, std::size_t length, void* user) {
    ucp_request_free(request);
    if (status == UCS_OK) static_cast<UcxLink*>(user)->on_message_(Tag::data, {}, length);
  }

  static void on_sent(void* request, ucs_status_t, void* user) {
    --static_cast<UcxLink*>(user)->in_flight_;
    ucp_request_free(request);
  }
};

Result<std::unique_ptr<UcxLink>> UcxLink::make() {
  std::unique_ptr<UcxLink> link(new UcxLink);
  if (auto created = link->create(); !created) return Failure(created.error());
  return link;
}

Result<void> UcxLink::create() {
  ucp_params_t params{};
  params.field_mask = UCP_PARAM_FIELD_FEATURES;
  params.features = UCP_FEATURE_AM | UCP_FEATURE_WAKEUP;
  if (const auto status = ucp_init(&params, nullptr, &context_); status != UCS_OK) {
    return ucx_error("ucp_init", status);
  }
  ucp_worker_params_t worker_params{};
  worker_params.field_mask =
      UCP_WORKER_PARAM_FIELD_THREAD_MODE | UCP_WORKER_PARAM_FIELD_AM_ALIGNMENT;
  worker_params.thread_mode = UCS_THREAD_MODE_SERIALIZED;
  worker_params.am_alignment = 64;
  if (const auto status = ucp_worker_create(context_, &worker_params, &worker_); status != UCS_OK) {
    return ucx_error("ucp_worker_create", status);
  }
  if (const auto status = ucp_worker_get_efd(worker_, &event_fd_); status != UCS_OK) {
    return ucx_error("ucp_worker_get_efd", status);
  }
  for (const auto tag : {Tag::order, Tag::data, Tag::ack}) {
    if (auto set = set_receiver(tag); !set) return set;
  }
  return {};
}

Result<void> UcxLink::set_receiver(Tag tag) {
  ucp_am_handler_param_t handler{};
  handler.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB |
                       UCP_AM_HANDLER_PARAM_FIELD_ARG | UCP_AM_HANDLER_PARAM_FIELD_FLAGS;
  handler.id = static_cast<unsigned>(tag);
  handler.cb = tag == Tag::order  ? Glue::on_message<Tag::order>
               : tag == Tag::data ? Glue::on_message<Tag::data>
                                  : Glue::on_message<Tag::ack>;
  handler.arg = this;
  handler.flags = UCP_AM_FLAG_WHOLE_MSG;
  const auto status = ucp_worker_set_am_recv_handler(worker_, &handler);
  if (status != UCS_OK) return ucx_error("ucp_worker_set_am_recv_handler", status);
  return {};
}

UcxLink::~UcxLink() {
  if (endpoint_ != nullptr) {
    ucp_request_param_t param{};
    param.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
    param.flags = UCP_EP_CLOSE_FLAG_FORCE;
    auto* request = ucp_ep_close_nbx(endpoint_, &param);
    if (UCS_PTR_IS_PTR(request)) {
      while (ucp_request_check_status(request) == UCS_INPROGRESS) ucp_worker_progress(worker_);
      ucp_request_free(request);
    }
  }
  if (worker_ != nullptr) ucp_worker_destroy(worker_);
  if (context_ != nullptr) ucp_cleanup(context_);
}

Result<std::string> UcxLink::address() const {
  ucp_address_t* address = nullptr;
  std::size_t length = 0;
  const auto status = ucp_worker_get_address(worker_, &address, &length);
  if (status != UCS_OK) return ucx_error("ucp_worker_get_address", status);
  std::string bytes(reinterpret_cast<const char*>(address), length);
  ucp_worker_release_address(worker_, address);
  return bytes;
}

Result<void> UcxLink::connect(const std::string& address) {
  ucp_ep_params_t params{};
  params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLER |
                      UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE;
  params.address = reinterpret_cast<const ucp_address_t*>(address.data());
  params.err_mode = UCP_ERR_HANDLING_MODE_PEER;
  params.err_handler.cb = [](void*, ucp_ep_h, ucs_status_t) {};  // who waits in vain shows it
  const auto status = ucp_ep_create(worker_, &params, &endpoint_);
  if (status != UCS_OK) return ucx_error("ucp_ep_create", status);
  return {};
}

void UcxLink::send(Tag tag, std::span<const std::byte> bytes) {
  ucp_request_param_t param{};
  param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
  param.cb.send = Glue::on_sent;
  param.user_data = this;
  auto* request = ucp_am_send_nbx(endpoint_, static_cast<unsigned>(tag), nullptr, 0, bytes.data(),
                                  bytes.size(), &param);
  if (UCS_PTR_IS_PTR(request)) ++in_flight_;
}

void UcxLink::send_number(Tag tag, std::uint64_t number) {
  auto& slot = numbers_[next_number_++ % numbers_.size()];
  slot = number;
  send(tag, std::as_bytes(std::span(&slot, 1)));
}

void UcxLink::expect_large(std::size_t bytes, std::size_t buffers) {
  const bool fits = buffers_.size() == buffers && !buffers_.empty() && buffers_[0].size() == bytes;
  if (!fits) buffers_.assign(buffers, std::vector<std::byte>(bytes));
}

bool UcxLink::progress() { return ucp_worker_progress(worker_) != 0; }

void UcxLink::sleep(int other_fd) {
  if (ucp_worker_arm(worker_) != UCS_OK) return;
  pollfd events[2] = {{event_fd_, POLLIN, 0}, {other_fd, POLLIN, 0}};
  ::poll(events, 2, -1);
}

}  // namespace troupe::bench
