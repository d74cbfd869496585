// Entry of libFuzzer; the reader is fixed when the target is compiled.
#include "fuzz/fuzz_reader.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  strobe::fuzz_reader(STROBE_FUZZ_FORMAT, data, size);
  return 0;
}
