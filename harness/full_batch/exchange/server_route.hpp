// Exchanges through servers (DGC, SIGMOD'23, section 6: a KVStore with push and pull). Some of the ranks are servers as
// well. An owner pushes each row that others read once to one server, which keeps it until all readers have pulled it.
// Gradients go back in the same way, one row for each reader. A server adds nothing: the owner adds the rows of its
// readers as it does from peer to peer, so both give the same bits.
#pragma once

#include <vector>

#include "harness/full_batch/exchange/exchange_plan.hpp"

namespace strobe {

/// The rank on which server `server` of `servers` lies: they are spread evenly over the ranks.
Rank rank_of_server(int server, int servers, int ranks);

/// The server of row `row` of the tensor of rank `owner`: a hash of both, modulo `servers`.
int server_of_row(Rank owner, std::int64_t row, int servers);

/// Four exchanges that are all run forward. Outputs of pushes and inputs of pulls are rows of the ranks' stores. Only
/// servers have any.
struct ServerRoute {
  int servers = 0;
  ExchangePlan push, pull;  // from the owners' rows to the readers' rows
  /// From the readers' rows to the owners. Where rows have several readers, they arrive as in a buffer of all sent
  /// rows, else in the owner's tensor.
  ExchangePlan push_back, pull_back;
};

/// The scope of a plan that may go through servers: their stores follow from the lists of all ranks.
ListScope scope_of_routed(const ListScope& scope);

/// `plan`, made with `scope_of_routed(scope)`, through the servers of `scope`, if it has any. Keeps the index lists
/// that `scope` asks for. Cost O(rows that cross, with a logarithm), and memory of as many numbers while the plan is
/// made.
ExchangePlan through_servers(ExchangePlan plan, const ListScope& scope);

/// Rows that ranks send to each other in one pass of `plan`, forward or backward.
std::int64_t sent_rows(const ExchangePlan& plan, bool backward);

/// The exchanges that carry the rows of `plan` in one pass: itself, or a push and a pull.
std::vector<const ExchangePlan*> carriers(const ExchangePlan& plan, bool backward);

}  // namespace strobe
