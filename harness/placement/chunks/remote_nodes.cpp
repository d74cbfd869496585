#include "harness/placement/chunks/remote_nodes.hpp"

#include <utility>

namespace strobe {

NodeShares::NodeShares(const ShareHolders& holders, std::uint32_t own) : first(1, 0) {
  const std::vector<std::string> counts = holders.exchange([&] {
    std::string message;
    pack(message, std::vector{own});
    return std::vector<std::string>(holders.size, message);
  });
  for (const std::string& bytes : counts) first.push_back(first.back() + Unpacker(bytes).next<std::uint32_t>().front());
}

NodeShares::NodeShares(std::uint32_t nodes, int processes) : first(1, 0) {
  for (int process = 0; process < processes; ++process)
    first.push_back(first.back() + static_cast<std::uint32_t>(even_share(nodes, processes, process).count));
}

RemoteNodes::RemoteNodes(const ShareHolders& holders, const NodeShares& shares, std::vector<std::uint32_t> nodes)
    : nodes_(std::move(nodes)) {
  const std::vector<std::string> received = holders.exchange([&] {
    std::vector<std::string> messages(holders.size);
    for (int process = 0; process < holders.size; ++process) {
      const std::uint32_t from = place(shares.first[process]), to = place(shares.first[process + std::size_t{1}]);
      runs_.push_back({from, to - from});
      std::vector<std::uint32_t> wanted(nodes_.begin() + from, nodes_.begin() + to);
      for (std::uint32_t& node : wanted) node -= shares.first[process];
      pack(messages[process], wanted);
    }
    return messages;
  });
  for (const std::string& bytes : received) needed_.push_back(Unpacker(bytes).next<std::uint32_t>());
}

}  // namespace strobe
