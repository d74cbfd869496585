// The entry point of every fuzz target for a run's own files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace strobe {

/// Reads the input as `reader`: suite, cluster, checkpoint or run-directory. Errors of Strobe's own types are the
/// expected end of most inputs; anything else that is thrown ends the process.
void fuzz_request(const std::string& reader, const std::uint8_t* data, std::size_t size);

}  // namespace strobe
