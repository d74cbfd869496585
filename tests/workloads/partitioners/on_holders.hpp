// Threads as the processes that partition a graph together.
#pragma once

#include <barrier>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "workloads/partitioners/share_holders.hpp"

namespace strobe::testing_partitioners {

/// Calls program(holders) on `size` threads that meet as processes would.
inline void on_holders(int size, const std::function<void(const ShareHolders&)>& program) {
  std::barrier<> all_here(size);
  std::vector<std::string> words(size);
  std::vector<std::vector<std::string>> letters(size);
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < size; ++rank) {
    threads.emplace_back([&, rank] {
      program({rank, size,
               [&, rank](const std::string& own) {
                 words[rank] = own;
                 all_here.arrive_and_wait();
                 std::vector<std::string> all = words;
                 all_here.arrive_and_wait();
                 return all;
               },
               [&, rank](const std::vector<std::string>& to) {
                 letters[rank] = to;
                 all_here.arrive_and_wait();
                 std::vector<std::string> received;
                 for (int other = 0; other < size; ++other) received.push_back(letters[other][rank]);
                 all_here.arrive_and_wait();
                 return received;
               }});
    });
  }
}

}  // namespace strobe::testing_partitioners
