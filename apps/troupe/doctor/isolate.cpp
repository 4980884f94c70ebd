// SPDX-License-Identifier: Apache-2.0
#include "apps/troupe/doctor/isolate.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <exception>
#include <string_view>

namespace troupe::doctor {
namespace {

using Clock = std::chrono::steady_clock;

constexpr char field_end = '\x1f';
constexpr char row_end = '\x1e';

std::string clean(std::string text) {
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20) c = ' ';
  }
  return text;
}

std::string encode(const Findings& findings) {
  std::string out;
  for (const auto& row : findings) {
    out += clean(row.what) + field_end + std::to_string(static_cast<int>(row.verdict)) + field_end +
           clean(row.found) + field_end + clean(row.means) + row_end;
  }
  return out;
}

std::string_view take(std::string_view& from, char end) {
  const auto at = from.find(end);
  const auto part = from.substr(0, at);
  from.remove_prefix(at == std::string_view::npos ? from.size() : at + 1);
  return part;
}

Findings decode(std::string_view bytes) {
  Findings findings;
  while (bytes.find(row_end) != std::string_view::npos) {
    auto row = take(bytes, row_end);
    Finding finding;
    finding.what = take(row, field_end);
    const auto verdict = take(row, field_end);
    finding.verdict = verdict == "0"   ? Verdict::ok
                      : verdict == "1" ? Verdict::note
                                       : Verdict::missing;
    finding.found = take(row, field_end);
    finding.means = take(row, field_end);
    findings.push_back(std::move(finding));
  }
  return findings;
}

Findings failed(const std::string& what, const std::string& how) {
  return {{what, Verdict::note, how, "nothing is known of it; the other rows hold"}};
}

// Programs and libraries set handlers that keep a broken process alive, print, or wait for a
// debugger.
void die_of_faults() {
  for (const int fault : {SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGTERM, SIGINT}) {
    signal(fault, SIG_DFL);
  }
}

// The child: runs the probe with its output thrown away, writes what it found, ends.
[[noreturn]] void run_child(int out, const std::string& what,
                            const std::function<Findings()>& probe) {
  setpgid(0, 0);
  die_of_faults();
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (const int null = open("/dev/null", O_RDWR | O_CLOEXEC); null >= 0) {
    for (int fd = 0; fd <= 2; ++fd) dup2(null, fd);
  }
  Findings findings;
  try {
    findings = probe();
  } catch (const std::exception& error) {
    findings = failed(what, std::string("the probe failed: ") + error.what());
  } catch (...) {
    findings = failed(what, "the probe failed");
  }
  const auto bytes = encode(findings);
  std::size_t done = 0;
  while (done < bytes.size()) {
    const auto n = write(out, bytes.data() + done, bytes.size() - done);
    if (n <= 0 && errno != EINTR) break;
    if (n > 0) done += static_cast<std::size_t>(n);
  }
  _exit(0);
}

// Reads until the other end closes; false where the limit came first.
bool read_all(int in, Clock::time_point deadline, std::string& bytes) {
  char buffer[4096];
  while (true) {
    const auto left = std::chrono::duration_cast<Millis>(deadline - Clock::now()).count();
    if (left <= 0) return false;
    pollfd waiting{in, POLLIN, 0};
    if (poll(&waiting, 1, static_cast<int>(left)) <= 0) continue;
    const auto n = read(in, buffer, sizeof buffer);
    if (n == 0) return true;
    if (n < 0 && errno != EINTR) return true;
    if (n > 0) bytes.append(buffer, static_cast<std::size_t>(n));
  }
}

}  // namespace

Findings isolated(const std::string& what, Millis limit, const std::function<Findings()>& probe) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0)
    return failed(what, std::string("no pipe: ") + std::strerror(errno));
  const auto child = fork();
  if (child == 0) {
    close(ends[0]);
    run_child(ends[1], what, probe);
  }
  close(ends[1]);
  if (child < 0) {
    close(ends[0]);
    return failed(what, std::string("no process: ") + std::strerror(errno));
  }
  setpgid(child, child);  // here too: whichever of the two comes first
  std::string bytes;
  const bool finished = read_all(ends[0], Clock::now() + limit, bytes);
  close(ends[0]);
  if (!finished) kill(-child, SIGKILL);
  siginfo_t ended;
  while (waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOWAIT) < 0 && errno == EINTR) {
  }
  kill(-child, SIGKILL);  // what it started and left behind; its number is ours until it is reaped
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!finished) return failed(what, "no answer within " + std::to_string(limit.count()) + " ms");
  if (WIFSIGNALED(status)) {
    return failed(what, std::string("the probe was ended by ") + strsignal(WTERMSIG(status)));
  }
  auto findings = decode(bytes);
  return findings.empty() ? failed(what, "the probe ended without an answer") : findings;
}

}  // namespace troupe::doctor
