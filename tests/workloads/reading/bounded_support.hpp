// Files that are read within bounds of memory and compared with those read without one, and the memory that it takes.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <thread>

#include "core/system/process_memory.hpp"
#include "tests/workloads/support.hpp"
#include "workloads/binary/binary_graph.hpp"
#include "workloads/binary/binary_snapshots.hpp"
#include "workloads/storage/reading_bound.hpp"
#include "workloads/workload.hpp"

namespace strobe::test {

inline constexpr std::uint64_t bounded_mib = std::uint64_t{1} << 20;

/// Whether the system says that a file backs this memory.
inline bool lies_in_file(const void* data) {
  const auto address = reinterpret_cast<std::uintptr_t>(data);
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    unsigned long begin = 0, end = 0, inode = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx %*s %*s %*s %lu", &begin, &end, &inode) != 3) continue;
    if (begin <= address && address < end) return inode != 0;
  }
  return false;
}

inline std::string folder_of(const TemporaryFolder& folder) {
  return std::filesystem::path(folder.file("x")).parent_path().string();
}

/// The bytes of the file that `strobe convert` writes: events, or with `steps` the steps of these options.
inline std::string file_of(const TemporaryFolder& folder, const std::string& path, const std::optional<Json>& steps) {
  const std::string out = folder.file("out.strobe");
  if (steps) {
    Json options = *steps;
    options["cache"] = "off";  // every reading reads the text
    write_binary_snapshots(load_workload(path, options, 1), out);
  } else {
    write_binary_graph(read_events(path), out);
  }
  return read_bytes(out);
}

/// The bytes of the file of these events.
inline std::string events_of(const TemporaryFolder& folder, const std::string& path, Json options) {
  options["cache"] = "off";
  write_binary_graph(*load_events(path, options), folder.file("out.strobe"));
  return read_bytes(folder.file("out.strobe"));
}

/// Calls `make` without a bound and within three, and compares what it returns.
template <class Make>
void expect_same_within_bounds(const Make& make, const std::string& what) {
  const std::string whole = make();
  ASSERT_GT(whole.size(), 500'000u);
  for (const std::uint64_t limit : {bounded_mib, 3 * bounded_mib, 1024 * bounded_mib}) {
    const Threads threads(limit == 3 * bounded_mib ? 3 : 1);
    const TemporaryFolder aside;
    const BoundedReading bound(limit, folder_of(aside));
    EXPECT_TRUE(make() == whole) << what << " within " << limit;
    EXPECT_TRUE(std::filesystem::is_empty(folder_of(aside)));
  }
}

inline void expect_same_files(const TemporaryFolder& folder, const std::string& path,
                              const std::optional<Json>& steps = {}) {
  expect_same_within_bounds([&] { return file_of(folder, path, steps); },
                            path + " " + (steps ? steps->dump() : "events"));
}

/// The most private memory that `work` takes above what is in use before, in bytes; looks every half millisecond, if
/// the system lets it. `work` may call look_at_process_memory where it holds most.
template <class Work>
double most_private_bytes(const Work& work) {
  spare_process_memory(true);
  forget_process_memory();
  const std::uint64_t before = process_memory_bytes();
  std::atomic<std::uint64_t> most{before};
  std::atomic<bool> done{false};
  std::thread watch([&] {
    for (; !done; std::this_thread::sleep_for(std::chrono::microseconds(500)))
      most = std::max(most.load(), process_memory_bytes());
  });
  work();
  done = true;
  watch.join();
  spare_process_memory(false);
  return static_cast<double>(std::max(most.load(), most_process_memory()) - before);
}

/// The same within a bound of `limit` bytes, and without one when it is 0.
template <class Work>
double most_private_bytes_within(std::uint64_t limit, const Work& work) {
  const TemporaryFolder aside;
  std::optional<BoundedReading> bound;
  if (limit > 0) bound.emplace(limit, folder_of(aside));
  return most_private_bytes(work);
}

}  // namespace strobe::test
