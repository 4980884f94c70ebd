// SPDX-License-Identifier: Apache-2.0
//
// Feeds a fuzz target with the files of a folder and with changed copies of them. Arguments: the
// folder; then, to play one input again, a file's name and the number of the change.
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

using Input = std::vector<std::uint8_t>;

char place[512];  // of the input in work, for whoever must report a crash

Input read(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// The input's n-th change; number 0 is the input itself.
Input change(Input input, unsigned number, const Input& other) {
  std::mt19937 random(number);
  for (auto left = number == 0 ? 0 : 1 + random() % 6; left > 0; --left) {
    const auto at = input.empty() ? 0 : random() % input.size();
    const auto begin = input.begin() + static_cast<std::ptrdiff_t>(at);
    switch (random() % 6) {
      case 0:
        input.resize(at);
        break;
      case 1:
        input.insert(begin, 1 + random() % 8, static_cast<std::uint8_t>(random()));
        break;
      case 2:
        input.erase(begin, begin + static_cast<std::ptrdiff_t>(
                                       std::min<std::size_t>(random() % 16, input.size() - at)));
        break;
      case 3:
        input.insert(begin, other.begin(), other.end());
        break;
      case 4:
        if (!input.empty()) input[at] ^= static_cast<std::uint8_t>(1u << random() % 8);
        break;
      default:
        if (!input.empty()) input[at] = random() % 2 ? 0xff : static_cast<std::uint8_t>(random());
    }
  }
  return input;
}

void on_crash(int number) {
  [[maybe_unused]] auto said = ::write(2, place, std::strlen(place));
  std::signal(number, SIG_DFL);
  std::raise(number);
}

void run(const std::string& program, const std::filesystem::path& file, unsigned number,
         const Input& other) {
  std::snprintf(place, sizeof place, "this input ends it: %s %s %s %u\n", program.c_str(),
                file.parent_path().c_str(), file.filename().c_str(), number);
  const auto input = change(read(file), number, other);
  LLVMFuzzerTestOneInput(input.data(), input.size());
}

}  // namespace

int main(int count, char** words) {
  if (count < 2) return 2;
  for (const int number : {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGALRM}) {
    std::signal(number, on_crash);
  }
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(words[1])) {
    files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  if (files.empty()) {
    std::fprintf(stderr, "%s: no corpus\n", words[1]);
    return 1;
  }
  const auto other = read(files.front());
  if (count == 4) {
    run(words[0], std::filesystem::path(words[1]) / words[2],
        static_cast<unsigned>(std::strtoul(words[3], nullptr, 10)), other);
    return 0;
  }
  constexpr unsigned inputs = 20000;
  for (unsigned i = 0; i < inputs + files.size(); ++i) {
    ::alarm(20);  // no input may take longer
    run(words[0], files[i % files.size()], static_cast<unsigned>(i / files.size()), other);
  }
  std::printf("%zu files, %u changed copies\n", files.size(), inputs);
  return 0;
}
