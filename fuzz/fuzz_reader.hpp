// The entry point of every fuzz target for a format.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace strobe {

/// Writes the input into a folder of this process, reads it as `format` and takes what was read through the next steps
/// (id spaces, windows, options). Errors of Strobe's own types are the expected end of most inputs; anything else that
/// is thrown, and a broken invariant of a graph that was accepted, ends the process.
void fuzz_reader(const std::string& format, const std::uint8_t* data, std::size_t size);

}  // namespace strobe
