// NumPy archives of arrays, .npz: a zip archive of stored .npy members (numpy.lib.npyio.savez), written piece by piece.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "workloads/storage/atomic_file.hpp"

namespace strobe {

/// Writes an archive that appears whole, in `commit`, or not at all. Every member has 64-bit sizes (zip64), as NumPy
/// writes them.
class NpzFile {
 public:
  using Sink = std::function<void(std::string_view bytes)>;

  explicit NpzFile(const std::string& path) : file_(path) {}
  /// Appends an array of f8, C-ordered. `pieces` passes the bytes of its elements to the sink, in order; it is called
  /// twice, because the checksum comes first in a member. Throws SystemError.
  void add(const std::string& name, const std::vector<std::int64_t>& shape,
           const std::function<void(const Sink&)>& pieces);
  void commit();

 private:
  struct Member {
    std::string name;
    std::uint32_t checksum = 0;
    std::uint64_t size = 0, offset = 0;
  };
  void write(std::string_view bytes);

  AtomicFile file_;
  std::uint64_t written_ = 0;
  std::vector<Member> members_;
};

}  // namespace strobe
