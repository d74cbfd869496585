// The files that are mapped, by address, for error messages when reading one of them fails.
#pragma once

#include <cstddef>
#include <string>

namespace strobe {

/// While one lives, `mapped_file_at` knows a mapping. After some hundred at once, later ones stay unknown.
class MappingWatch {
 public:
  MappingWatch(const std::string& path, const void* data, std::size_t size);
  ~MappingWatch();
  MappingWatch(const MappingWatch&) = delete;
  MappingWatch& operator=(const MappingWatch&) = delete;

 private:
  std::string path_;
  std::size_t slot_;
};

/// The path of the file that is mapped at `address`, null when none is known. May be called in a signal's handler.
const char* mapped_file_at(const void* address);

}  // namespace strobe
