// Entry of libFuzzer, which passes over arguments that begin with two dashes: --reader=NAME says which reader it is.
#include <cstdlib>
#include <iostream>
#include <string_view>

#include "fuzz/fuzz_reader.hpp"
#include "fuzz/fuzz_requests.hpp"

namespace {

std::string& reader() {
  static std::string name;
  return name;
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* count, char*** arguments) {
  constexpr std::string_view flag = "--reader=";
  for (int i = 1; i < *count; ++i) {
    const std::string_view argument = (*arguments)[i];
    if (argument.substr(0, flag.size()) == flag) reader() = argument.substr(flag.size());
  }
  if (!reader().empty()) return 0;
  std::cerr << "usage: fuzz_readers --reader=NAME [libFuzzer's options] [folders]\n";
  std::exit(2);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
#if defined(STROBE_FUZZ_REQUESTS)
  strobe::fuzz_request(reader(), data, size);
#else
  strobe::fuzz_reader(reader(), data, size);
#endif
  return 0;
}
