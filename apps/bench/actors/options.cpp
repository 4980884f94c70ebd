// SPDX-License-Identifier: Apache-2.0
#include "apps/bench/actors/options.hpp"

#include "messages/reflect.hpp"

namespace troupe::bench {

Result<Options> parse_options(const std::vector<std::string>& words) {
  Options options;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const auto& word = words[i];
    if (word == "--long") {
      options.effort = Effort::thorough;
    } else if (word == "--quick") {
      options.effort = Effort::quick;
    } else if (word == "--help" || word == "-h") {
      options.help = true;
    } else if (word == "-o" || word == "--output") {
      const auto output = ++i < words.size() ? words[i] : std::string();
      if (output != "table" && output != "json") {
        return fail(ErrorCode::invalid_argument,
                    "no output '" + output + "'" + did_you_mean(output, {"table", "json"}));
      }
      options.json = output == "json";
    } else {
      return fail(ErrorCode::invalid_argument,
                  "unknown option '" + word + "'" +
                      did_you_mean(word, {"-o", "--output", "--long", "--quick", "--help"}));
    }
  }
  return options;
}

}  // namespace troupe::bench
