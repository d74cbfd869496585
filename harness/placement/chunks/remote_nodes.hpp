// Graphs whose nodes are shared out among processes: who holds which node, and the nodes of others that a process
// needs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/ids.hpp"
#include "workloads/partitioners/packed_values.hpp"
#include "workloads/partitioners/share_holders.hpp"

namespace strobe {

/// Runs of node numbers that ascend by process and cover all nodes.
struct NodeShares {
  std::vector<std::uint32_t> first = {0, 0};  // [processes + 1]

  NodeShares() = default;
  /// From the number of nodes of this process. All `holders` call it.
  NodeShares(const ShareHolders& holders, std::uint32_t own);
  /// Even shares.
  NodeShares(std::uint32_t nodes, int processes);
  std::uint32_t nodes() const { return first.back(); }
  std::uint32_t count(int process) const { return first[process + std::size_t{1}] - first[process]; }
  int owner(std::uint32_t node) const {
    return static_cast<int>(std::upper_bound(first.begin(), first.end(), node) - first.begin()) - 1;
  }
};

/// Nodes that a process needs values of, such as those that its own have edges to, and who needs its own.
class RemoteNodes {
 public:
  RemoteNodes() = default;  // none
  /// `nodes`: ascending. All `holders` call it.
  RemoteNodes(const ShareHolders& holders, const NodeShares& shares, std::vector<std::uint32_t> nodes);

  std::size_t count() const { return nodes_.size(); }
  /// The place of a node among them.
  std::uint32_t place(std::uint32_t node) const {
    return static_cast<std::uint32_t>(std::lower_bound(nodes_.begin(), nodes_.end(), node) - nodes_.begin());
  }
  /// Places of the nodes of a process.
  Run of(int process) const { return runs_.empty() ? Run() : runs_[process]; }
  /// The own nodes, from 0 on, that a process needs. Its nodes of this process are these, in this order.
  const std::vector<std::uint32_t>& needed_by(int process) const {
    static const std::vector<std::uint32_t> nobody;
    return needed_.empty() ? nobody : needed_[process];
  }
  /// Values of the nodes, from those of everyone's own ones. All `holders` call it.
  template <class Values, class T = typename Values::value_type>
  std::vector<T> fetch(const ShareHolders& holders, const Values& own) const {
    const std::vector<std::string> received = holders.exchange([&] {
      std::vector<std::string> messages(holders.size);
      for (int process = 0; process < holders.size; ++process) {
        std::vector<T> wanted;
        for (const std::uint32_t node : needed_by(process)) wanted.push_back(own[node]);
        pack(messages[process], wanted);
      }
      return messages;
    });
    std::vector<T> values;
    for (const std::string& bytes : received) {
      const std::vector<T> of_process = Unpacker(bytes).next<T>();
      values.insert(values.end(), of_process.begin(), of_process.end());
    }
    return values;
  }

 private:
  std::vector<std::uint32_t> nodes_;
  std::vector<Run> runs_;                           // [processes] into nodes_
  std::vector<std::vector<std::uint32_t>> needed_;  // [processes]
};

}  // namespace strobe
