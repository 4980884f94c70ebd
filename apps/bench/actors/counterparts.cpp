// SPDX-License-Identifier: Apache-2.0
#include "apps/bench/actors/counterparts.hpp"

#include <sstream>

namespace troupe::bench {
namespace {

constexpr auto meeting_time = std::chrono::seconds(20);

}  // namespace

Result<std::unique_ptr<Counterparts>> Counterparts::start(Launcher& launcher,
                                                          const std::string& binary,
                                                          const std::string& name,
                                                          const std::string& cores) {
  std::unique_ptr<Counterparts> pair(new Counterparts);
  for (auto* end : {&pair->served_, &pair->joined_}) {
    auto sockets = LineChannel::make_sockets();
    if (!sockets) return Failure(sockets.error());
    ProcessSpec spec;
    spec.binary = binary;
    spec.arguments = {"--peer", name, "--cores", cores};
    spec.environment = {{"UCX_ERROR_SIGNALS", ""}};  // read when the library is loaded
    spec.descriptors = {sockets->second.get()};
    auto process = launcher.start(spec, {});
    if (!process) return Failure(process.error());
    end->emplace(End{LineChannel(std::move(sockets->first)), std::move(*process)});
  }
  if (auto met = pair->meet(); !met) return Failure(met.error());
  return pair;
}

Result<void> Counterparts::meet() {
  const auto served = order(served_, "serve", meeting_time);
  if (!served) return Failure(served.error());
  const auto joined = order(joined_, "join " + *served, meeting_time);
  if (!joined) return Failure(joined.error());
  const auto accepted = order(served_, "accept " + *joined, meeting_time);
  if (!accepted) return Failure(accepted.error());
  return {};
}

Result<std::string> Counterparts::order(std::optional<End>& end, const std::string& line,
                                        std::chrono::seconds limit) {
  if (!end) return Failure(lost_);
  Result<std::string> answer = fail(ErrorCode::internal, "");
  if (auto sent = end->orders.send(line); !sent) {
    answer = Failure(sent.error());
  } else {
    answer = end->orders.receive(LineChannel::Clock::now() + limit);
  }
  if (!answer) {
    lost_ = answer.error();
    const auto how = end->process->wait_for_end(Millis(100));
    if (!how.empty()) lost_.what += ": " + how;
    served_.reset();
    joined_.reset();
    return Failure(lost_);
  }
  if (answer->rfind("ok", 0) == 0) return answer->substr(std::min<std::size_t>(3, answer->size()));
  return fail(ErrorCode::unavailable, answer->substr(answer->find(' ') + 1));
}

Result<std::vector<double>> Counterparts::measure(const Task& task, std::chrono::seconds limit) {
  const auto answer = order(joined_, "measure " + to_line(task), limit);
  if (!answer) return Failure(answer.error());
  std::vector<double> figures;
  std::istringstream in(*answer);
  for (double figure; in >> figure;) figures.push_back(figure);
  return figures;
}

}  // namespace troupe::bench
