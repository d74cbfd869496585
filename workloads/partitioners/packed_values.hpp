// Lists of plain values as bytes, for messages between processes of one build.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace strobe {

/// Appends the number of values, and the values.
template <class T>
void pack(std::string& bytes, const std::vector<T>& values) {
  const std::uint64_t count = values.size();
  bytes.append(reinterpret_cast<const char*>(&count), sizeof count);
  bytes.append(reinterpret_cast<const char*>(values.data()), count * sizeof(T));
}

/// A message for each process with its own list.
template <class T>
std::vector<std::string> packed_each(const std::vector<std::vector<T>>& lists) {
  std::vector<std::string> messages(lists.size());
  for (std::size_t i = 0; i < lists.size(); ++i) pack(messages[i], lists[i]);
  return messages;
}

/// Takes the lists of a message in the order in which they were packed. The message must outlive it.
class Unpacker {
 public:
  explicit Unpacker(const std::string& bytes) : rest_(bytes) {}
  template <class T>
  std::vector<T> next() {
    std::uint64_t count = 0;
    take(reinterpret_cast<char*>(&count), sizeof count);
    std::vector<T> values(count);
    take(reinterpret_cast<char*>(values.data()), count * sizeof(T));
    return values;
  }

 private:
  void take(char* to, std::size_t size) {
    std::copy_n(rest_.data(), size, to);
    rest_.remove_prefix(size);
  }
  std::string_view rest_;
};

}  // namespace strobe
