// SPDX-License-Identifier: Apache-2.0
#include "apps/troupe/host/report.hpp"

#include "apps/troupe/json.hpp"
#include "gpu/easyscale/checkpoint/hash_file.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <sstream>
#include <utility>

namespace troupe {

Reporter::Reporter(ReportSpec spec, LineFile data)
    : spec_(std::move(spec)),
      data_(std::move(data)),
      file_(LineFile::open(spec_.run_dir / "events.jsonl")),
      progress_(spec_.job, ::isatty(STDERR_FILENO) != 0, start_, spec_.groups.size()) {
  if (!file_.status()) std::fprintf(stderr, "%s\n", file_.status().error().what.c_str());
}

void Reporter::report(Event event) {
  if (event.name == "done") {
    event.name = "group_done";
    results_.push_back(event);
  }
  if (event.name == "hashes") return keep_hashes(event);
  tell(event);
}

void Reporter::finish() {
  const auto place = [&](const Event& event) {
    return std::find(spec_.groups.begin(), spec_.groups.end(), text_field(event, "path"));
  };
  std::sort(results_.begin(), results_.end(),
            [&](const Event& a, const Event& b) { return place(a) < place(b); });
  Event done{"done", {{"job", spec_.job}}};
  if (!results_.empty()) {
    const auto& first = results_.front().fields;
    done.fields.insert(done.fields.end(), first.begin(), first.end());
    done.fields.emplace_back("groups", static_cast<std::int64_t>(results_.size()));
  }
  const auto now = std::chrono::steady_clock::now();
  done.fields.emplace_back("wall_s", std::chrono::duration<double>(now - start_).count());
  tell(done);
  if (!spec_.json) tell_results();
}

void Reporter::complain_once(bool written, const LineFile& file) {
  if (written) return;
  std::fprintf(stderr, "%s; the run goes on, its record ends here\n",
               file.status().error().what.c_str());
}

void Reporter::keep_hashes(const Event& event) {
  if (!hashes_) {
    hashes_.emplace(LineFile::open(spec_.run_dir / "hashes"));
    complain_once(hashes_->write(easyscale::hash_file_head), *hashes_);
  }
  const auto step = static_cast<std::uint64_t>(int_field(event, "step").value_or(0));
  std::istringstream tensors(text_field(event, "tensors"));
  std::string lines;
  std::string tensor;
  std::string hash;
  while (tensors >> tensor >> hash) {
    lines += (lines.empty() ? "" : "\n") +
             easyscale::hash_line(step, text_field(event, "path"), tensor, hash);
  }
  if (!lines.empty()) complain_once(hashes_->write(lines), *hashes_);
}

void Reporter::tell(const Event& event) {
  const auto text = to_text(event);
  complain_once(file_.write(text), file_);
  if (spec_.json) {
    data_.write(text);
  } else if (const auto words = progress_.on_event(event, std::chrono::steady_clock::now());
             !words.empty()) {
    std::fputs(words.c_str(), stderr);
  }
}

void Reporter::tell_results() {
  for (const auto& result : results_) {
    data_.write(fmt::format("{}: test accuracy {:.2f} %, parameters {}",
                            progress_.name_of(text_field(result, "path")),
                            100 * number_field(result, "test_accuracy").value_or(0),
                            text_field(result, "params_sha256")));
  }
}

}  // namespace troupe
