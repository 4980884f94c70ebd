// SPDX-License-Identifier: Apache-2.0
//
// A lease is a key that hangs on an etcd lease: etcd removes the key when that ends. The revision
// at which the key was made is the generation, so "still the holder" is one comparison in the
// transaction that writes. Keys below the prefix:
//
//   <prefix>/format       "1"
//   <prefix>/lease/NAME   its owner
//   <prefix>/data/KEY     a value
#include "actors/control/store/etcd_store.hpp"

#include "actors/control/store/base64.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <utility>
#include <vector>

namespace troupe {
namespace {

using Json = nlohmann::json;
using Again = EtcdClient::Again;

constexpr const char* format = "1";

// The gateway writes 64-bit numbers as texts and leaves zeros out.
std::uint64_t number_in(const Json& object, const char* key) {
  const auto it = object.find(key);
  if (it == object.end()) return 0;
  return it->is_string() ? std::stoull(it->get<std::string>()) : it->get<std::uint64_t>();
}

struct KeyValue {
  std::string key;
  std::string value;
  Revision created = 0;
  Revision changed = 0;
  std::uint64_t lease = 0;
};

KeyValue key_value(const Json& json) {
  auto key = from_base64(json.value("key", ""));
  auto value = from_base64(json.value("value", ""));
  if (!key || !value) throw std::invalid_argument("a key or value is not in base64");
  return {std::move(*key), std::move(*value), number_in(json, "create_revision"),
          number_in(json, "mod_revision"), number_in(json, "lease")};
}

/// The only key that a range of one key found.
std::optional<KeyValue> only_key(const Json& range) {
  const auto it = range.find("kvs");
  if (it == range.end() || it->empty()) return {};
  return key_value(it->front());
}

std::optional<LeaseHolder> holder_in(const std::optional<KeyValue>& found) {
  if (!found) return {};
  return LeaseHolder{found->value, found->created};
}

// What a request to etcd is made of.

Json text64(std::uint64_t number) { return std::to_string(number); }

Json range_of(const std::string& key) { return {{"key", to_base64(key)}}; }

Json put_of(const std::string& key, const std::string& value) {
  return {{"key", to_base64(key)}, {"value", to_base64(value)}};
}

Json was_created_at(const std::string& key, Revision revision) {
  return {{"key", to_base64(key)}, {"target", "CREATE"}, {"create_revision", text64(revision)}};
}

Json was_changed_at(const std::string& key, Revision revision) {
  return {{"key", to_base64(key)}, {"target", "MOD"}, {"mod_revision", text64(revision)}};
}

Json only(Json one) {
  Json list = Json::array();
  list.push_back(std::move(one));
  return list;
}

/// `change` where all of `compare` holds; where not, what the keys `look` are.
Json transaction(Json compare, const char* kind, Json change,
                 const std::vector<std::string>& look) {
  Json success = Json::object();
  success[kind] = std::move(change);
  Json failure = Json::array();
  for (const auto& key : look) {
    Json one = Json::object();
    one["request_range"] = range_of(key);
    failure.push_back(std::move(one));
  }
  Json all = Json::object();
  all["compare"] = std::move(compare);
  all["success"] = only(std::move(success));
  all["failure"] = std::move(failure);
  return all;
}

/// What the key that a failed transaction looked at is.
std::optional<KeyValue> looked_at(const Json& answer, std::size_t index) {
  return only_key(answer.at("responses").at(index).at("response_range"));
}

class EtcdStore final : public Store {
 public:
  EtcdStore(std::unique_ptr<EtcdClient> client, std::string prefix)
      : client_(std::move(client)), prefix_(std::move(prefix)) {}

  Result<Lease> acquire(const std::string& name, const std::string& owner, Millis ttl) override {
    if (auto ok = check_lease(name, owner, ttl); !ok) return Failure(ok.error());
    auto now = holder(name);  // costs no write, and mostly somebody holds it
    if (!now) return Failure(now.error());
    if (*now) return lease_is_held(name, **now);
    auto token = grant(ttl);
    if (!token) return Failure(token.error());
    auto lease = take(name, owner, ttl, *token);
    if (!lease) (void)revoke(*token);  // where this fails too it runs out by itself
    return lease;
  }

  Result<void> renew(const Lease& lease) override {
    if (auto ok = check_lease(lease.name, lease.owner, lease.ttl); !ok) return ok;
    auto left = call<std::uint64_t>(
        "/v3/lease/keepalive", {{"ID", text64(lease.token)}}, Again::yes,
        [](const Json& answer) { return number_in(answer.at("result"), "TTL"); });
    if (!left) return Failure(left.error());
    auto now = holder(lease.name);
    if (!now) return Failure(now.error());
    if (*left != 0 && *now && (*now)->generation == lease.generation) return {};
    return lease_is_lost(fence_of(lease), *now);
  }

  Result<void> release(const Lease& lease) override {
    auto done = revoke(lease.token);
    if (done || done.error().code != ErrorCode::not_found) return done;
    auto now = holder(lease.name);
    if (!now) return Failure(now.error());
    return lease_is_lost(fence_of(lease), *now);
  }

  Result<std::optional<LeaseHolder>> holder(const std::string& name) override {
    return call<std::optional<LeaseHolder>>(
        "/v3/kv/range", range_of(lease_key(name)), Again::yes,
        [](const Json& answer) { return holder_in(only_key(answer)); });
  }

  Result<std::optional<StoreEntry>> get(const std::string& key) override {
    if (auto ok = check_store_key(key); !ok) return Failure(ok.error());
    return call<std::optional<StoreEntry>>(
        "/v3/kv/range", range_of(data_key(key)), Again::yes,
        [&](const Json& answer) -> std::optional<StoreEntry> {
          auto found = only_key(answer);
          if (!found) return {};
          return StoreEntry{key, std::move(found->value), found->changed};
        });
  }

  Result<Revision> put(const std::string& key, const std::string& value,
                       const WriteRule& rule) override {
    if (auto ok = check_store_key(key); !ok) return Failure(ok.error());
    if (auto ok = check_store_value(key, value); !ok) return Failure(ok.error());
    return write(key, rule, "request_put", put_of(data_key(key), value));
  }

  Result<void> erase(const std::string& key, const WriteRule& rule) override {
    if (auto ok = check_store_key(key); !ok) return ok;
    auto done = write(key, rule, "request_delete_range", range_of(data_key(key)));
    if (!done) return Failure(done.error());
    return {};
  }

  Result<StorePage> list(const std::string& prefix, const std::string& after,
                         std::size_t limit) override {
    const auto size = std::min(limit, max_store_page);
    // The first key that may come, and one after all that begin with `prefix`: keys are ASCII.
    const auto first = after < prefix ? data_key(prefix) : data_key(after) + '\0';
    return call<StorePage>("/v3/kv/range",
                           {{"key", to_base64(first)},
                            {"range_end", to_base64(data_key(prefix) + '\xff')},
                            {"limit", text64(size + 1)}},
                           Again::yes, [&](const Json& answer) {
                             StorePage page;
                             for (const auto& json : answer.value("kvs", Json::array())) {
                               page.more = page.entries.size() == size;
                               if (page.more) break;
                               auto found = key_value(json);
                               page.entries.push_back({found.key.substr(data_key({}).size()),
                                                       std::move(found.value), found.changed});
                             }
                             return page;
                           });
  }

 private:
  [[nodiscard]] std::string lease_key(const std::string& name) const {
    return prefix_ + "/lease/" + name;
  }
  [[nodiscard]] std::string data_key(const std::string& key) const {
    return prefix_ + "/data/" + key;
  }

  /// One request; `read` takes out of the answer what is wanted.
  template <class T, class Read>
  Result<T> call(const char* path, const Json& body, Again again, Read&& read) {
    if (auto ok = check_format(); !ok) return Failure(ok.error());
    return ask<T>(path, body, again, std::forward<Read>(read));
  }

  template <class T, class Read>
  Result<T> ask(const char* path, const Json& body, Again again, Read&& read) {
    auto answer = client_->post(path, body, again);
    if (!answer) return Failure(answer.error());
    try {
      return read(*answer);
    } catch (const std::exception& error) {
      return fail(ErrorCode::corrupt, std::string("etcd: an answer that cannot be understood to ") +
                                          path + ": " + error.what());
    }
  }

  /// Once: is what lies below our prefix of our format?
  Result<void> check_format() {
    if (format_is_ours_) return {};
    const auto key = prefix_ + "/format";
    const auto body =
        transaction(only(was_created_at(key, 0)), "request_put", put_of(key, format), {key});
    auto found = ask<std::string>("/v3/kv/txn", body, Again::yes, [](const Json& answer) {
      if (answer.value("succeeded", false)) return std::string(format);
      return looked_at(answer, 0).value().value;
    });
    if (!found) return Failure(found.error());
    if (*found != format) {
      return fail(ErrorCode::version_mismatch,
                  "etcd: what is below '" + prefix_ + "' is of format '" + found->substr(0, 20) +
                      "', and this program knows format " + format +
                      ": use the program that wrote it, or name another prefix");
    }
    format_is_ours_ = true;
    return {};
  }

  Result<std::uint64_t> grant(Millis ttl) {
    const auto seconds = std::chrono::ceil<std::chrono::seconds>(ttl);
    return call<std::uint64_t>("/v3/lease/grant", {{"TTL", std::to_string(seconds.count())}},
                               Again::yes,
                               [](const Json& answer) { return number_in(answer, "ID"); });
  }

  Result<void> revoke(std::uint64_t token) {
    auto done = call<bool>("/v3/lease/revoke", {{"ID", text64(token)}}, Again::yes,
                           [](const Json&) { return true; });
    if (!done) return Failure(done.error());
    return {};
  }

  /// Makes the lease's key unless it is there. Sent twice it finds the key that it has made: nobody
  /// else's hangs on this token.
  Result<Lease> take(const std::string& name, const std::string& owner, Millis ttl,
                     std::uint64_t token) {
    const auto key = lease_key(name);
    auto change = put_of(key, owner);
    change["lease"] = text64(token);
    const auto body =
        transaction(only(was_created_at(key, 0)), "request_put", std::move(change), {key});
    auto found = call<KeyValue>("/v3/kv/txn", body, Again::yes, [&](const Json& answer) {
      if (answer.value("succeeded", false)) {
        const auto revision = number_in(answer.at("header"), "revision");
        return KeyValue{key, owner, revision, revision, token};
      }
      return looked_at(answer, 0).value();
    });
    if (!found) return Failure(found.error());
    if (found->lease != token) return lease_is_held(name, {found->value, found->created});
    return Lease{name, owner, found->created, ttl, token};
  }

  /// One change, if the rule allows it. A rule about the revision is not asked twice: the second
  /// time it would see the first.
  Result<Revision> write(const std::string& key, const WriteRule& rule, const char* kind,
                         Json change) {
    Json compare = Json::array();
    if (rule.fence)
      compare.push_back(was_created_at(lease_key(rule.fence->lease), rule.fence->generation));
    if (rule.revision) compare.push_back(was_changed_at(data_key(key), *rule.revision));
    const auto fence_key = lease_key(rule.fence ? rule.fence->lease : std::string());
    const auto body = transaction(std::move(compare), kind, std::move(change),
                                  {lease_key(rule.fence ? rule.fence->lease : ""), data_key(key)});
    return call<Result<Revision>>(
               "/v3/kv/txn", body, rule.revision ? Again::no : Again::yes,
               [&](const Json& answer) -> Result<Revision> {
                 if (answer.value("succeeded", false)) {
                   return number_in(answer.at("header"), "revision");
                 }
                 const auto now = holder_in(looked_at(answer, 0));
                 const auto found = looked_at(answer, 1);
                 if (rule.fence && (!now || now->generation != rule.fence->generation)) {
                   return lease_is_lost(*rule.fence, now);
                 }
                 return key_has_changed(key, rule.revision.value_or(0), found ? found->changed : 0);
               })
        .and_then([](Result<Revision> inner) { return inner; });
  }

  std::unique_ptr<EtcdClient> client_;
  std::string prefix_;
  bool format_is_ours_ = false;
};

}  // namespace

std::unique_ptr<Store> open_etcd_store(std::unique_ptr<EtcdClient> client, std::string prefix) {
  return std::make_unique<EtcdStore>(std::move(client), std::move(prefix));
}

}  // namespace troupe
