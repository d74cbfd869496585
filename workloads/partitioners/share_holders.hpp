// The processes that partition a graph together, and how they meet.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/ids.hpp"

namespace strobe {

/// The first character of every message of a partitioner. A process that failed before it partitioned sends another
/// message to the same meeting (harness/process/ranks.cpp).
constexpr char partition_mark = '\xFF';

/// The processes that partition a graph together; by default this process alone. Several are the ranks of the MPI world
/// in its order.
struct ShareHolders {
  int rank = 0, size = 1;
  /// Every process passes `own` and gets the strings of all, by rank. Null for one process.
  std::function<std::vector<std::string>(const std::string& own)> gather = nullptr;
  /// Every process passes a string for each process, and gets those that are meant for it, by rank. Null for one
  /// process.
  std::function<std::vector<std::string>(const std::vector<std::string>& to)> all_to_all = nullptr;

  bool several() const { return size > 1; }
  /// Every process does its work, before all of them go on. If one fails, all throw: that one its own error, the others
  /// a SystemError with its message.
  void together(const std::function<void()>& work) const;
  /// Every process makes a string for each process and gets those that are meant for it, by rank. If one fails to make
  /// them, all throw as in `together`. All meet there before their first exchange.
  std::vector<std::string> exchange(const std::function<std::vector<std::string>()>& make) const;
  /// Sums over the processes, one for each of `own`.
  std::vector<std::int64_t> sums(const std::vector<std::int64_t>& own) const;
  /// Values of process `from`, for all; `own` counts at that process alone.
  template <class T>
  std::vector<T> broadcast(int from, const std::vector<T>& own) const {
    const std::string bytes =
        broadcast_bytes(from, {reinterpret_cast<const char*>(own.data()), own.size() * sizeof(T)});
    std::vector<T> values(bytes.size() / sizeof(T));
    std::copy_n(bytes.data(), bytes.size(), reinterpret_cast<char*>(values.data()));
    return values;
  }
  /// Values of all processes, by rank. They travel rank by rank, so that messages stay small.
  template <class T>
  std::vector<T> all_gather(const std::vector<T>& own) const {
    std::vector<T> all;
    for (int turn = 0; turn < size; ++turn) {
      const std::vector<T> values = broadcast(turn, own);
      all.insert(all.end(), values.begin(), values.end());
    }
    return all;
  }

 private:
  std::string broadcast_bytes(int from, std::string own) const;
};

}  // namespace strobe
