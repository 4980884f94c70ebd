// SPDX-License-Identifier: Apache-2.0
#include "apps/troupe/commands.hpp"
#include "apps/troupe/doctor/doctor.hpp"
#include "apps/troupe/json.hpp"
#include "apps/troupe/table.hpp"

#include <cstdio>
#include <filesystem>
#include <string>
#include <system_error>

namespace troupe {
namespace {

std::string word_for(doctor::Verdict verdict) {
  switch (verdict) {
    case doctor::Verdict::ok:
      return "ok";
    case doctor::Verdict::note:
      return "note";
    case doctor::Verdict::missing:
      return "missing";
  }
  return {};
}

std::string as_table(const doctor::Findings& findings) {
  std::vector<TableRow> rows;
  for (const auto& row : findings) {
    rows.push_back({row.what, word_for(row.verdict), row.found, row.means});
  }
  return format_table({"WHAT", "STATUS", "FOUND", "WHAT FOLLOWS"}, rows);
}

std::string as_json(const doctor::Findings& findings) {
  Json::Array rows;
  for (const auto& row : findings) {
    rows.push_back(Json::Object{{"what", row.what},
                                {"status", word_for(row.verdict)},
                                {"found", row.found},
                                {"means", row.means}});
  }
  return to_text(Json::Object{{"rows", std::move(rows)}}) + "\n";
}

}  // namespace

int doctor_command(const DoctorOptions& options) {
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  const auto findings = doctor::examine(self.parent_path());
  const auto text = options.output == Output::json ? as_json(findings) : as_table(findings);
  std::fwrite(text.data(), 1, text.size(), stdout);
  return 0;
}

}  // namespace troupe
