#include "fuzz.hpp"

#include <algorithm>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

// Runs a fuzzer on the given files and the files in the given folders, for compilers without libFuzzer.
int main(int argc, char** argv) {
  std::vector<std::filesystem::path> files;
  for (char const* const name : std::span(argv, static_cast<std::size_t>(argc)).subspan(1)) {
    if (!std::filesystem::is_directory(name)) {
      files.emplace_back(name);
      continue;
    }
    for (auto const& entry : std::filesystem::directory_iterator(name)) files.push_back(entry.path());
  }
  std::ranges::sort(files);
  std::string current;
  try {
    for (auto const& file : files) {
      current = file.string();
      std::ifstream stream(file, std::ios::binary);
      std::vector<char> const bytes{std::istreambuf_iterator<char>(stream), {}};
      if (!stream) throw std::runtime_error("cannot be read");
      // In an allocation of exactly this size, so that a sanitizer sees reads past the end.
      std::vector<std::uint8_t> const input(bytes.begin(), bytes.end());
      // Printed first, because a failure ends the process.
      std::fprintf(stderr, "%s\r", current.c_str());
      LLVMFuzzerTestOneInput(input.data(), input.size());
    }
  } catch (std::exception const& error) {
    std::fprintf(stderr, "\n%s: %s\n", current.c_str(), error.what());
    return 1;
  }
  std::fprintf(stderr, "\n");
  std::printf("%zu inputs passed\n", files.size());
  return files.empty() ? 1 : 0;
}
