// SPDX-License-Identifier: Apache-2.0
#include "apps/troupe/cluster/client.hpp"
#include "apps/troupe/cluster/complain.hpp"
#include "apps/troupe/cluster/listing.hpp"
#include "apps/troupe/commands.hpp"
#include "apps/troupe/host/signals.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace troupe {
namespace {

/// Those that do not run first, then the fastest.
void sort_by_need(Picture& picture) {
  const auto rank = [](const ActorLine& actor) { return actor.state == "running" ? 1 : 0; };
  std::stable_sort(picture.actors.begin(), picture.actors.end(), [&](const auto& a, const auto& b) {
    if (rank(a) != rank(b)) return rank(a) < rank(b);
    return a.steps_per_s.value_or(-1) > b.steps_per_s.value_or(-1);
  });
}

/// As many lines as the terminal has, none longer than it is wide.
std::string fit(const std::string& text) {
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_row < 3 || size.ws_col < 20) {
    return text;
  }
  std::string out;
  std::size_t begin = 0;
  for (int row = 1; row < size.ws_row && begin < text.size(); ++row) {
    const auto end = std::min(text.find('\n', begin), text.size());
    out += text.substr(begin, std::min<std::size_t>(end - begin, size.ws_col)) + "\n";
    begin = end + 1;
  }
  return out;
}

void show(Picture picture, Output output, bool terminal) {
  if (output == Output::json) return print(to_text(list_json(picture, false)) + "\n");
  sort_by_need(picture);
  if (output == Output::name) return print(list_names(picture));
  const auto text = summary(picture) + "\n\n" + list_table(picture);
  print(terminal ? "\x1b[H\x1b[2J" + fit(text) : text);
}

}  // namespace

int top_command(const TopOptions& options) {
  const Signals signals;
  const WakeUp nobody;
  const bool terminal = ::isatty(STDOUT_FILENO) != 0;
  auto client = ClusterClient::open(options.cluster);
  if (!client) return complain("top", client.error());
  const auto times = options.count ? *options.count : terminal ? 0 : 1;
  for (unsigned done = 0; times == 0 || done < times; ++done) {
    if (done > 0 && signals.wait(nobody, Millis(options.every_ms))) return 0;
    auto picture = take_picture(**client, {});
    if (!picture) return complain("top", picture.error());
    show(std::move(*picture), options.output, terminal);
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace troupe
