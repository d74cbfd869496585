// Makes .npy files.
#pragma once

#include <string>
#include <vector>

namespace strobe::test {

/// A version-`major`.0 file with the dictionary `dictionary` unchanged, then `elements`.
inline std::string npy_file(const std::string& dictionary, const std::string& elements, char major = 1) {
  std::string header = dictionary + "\n", file = "\x93NUMPY";
  file += major;
  file += '\0';
  file += static_cast<char>(header.size() & 0xff);
  file += static_cast<char>(header.size() >> 8);
  if (major == 2) file += std::string(2, '\0');
  return file + header + elements;
}

template <class T>
std::string npy(const std::string& type, const std::string& shape, const std::vector<T>& values, char major = 1) {
  return npy_file("{'descr': '" + type + "', 'fortran_order': False, 'shape': " + shape + ", }",
                  std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)), major);
}

}  // namespace strobe::test
