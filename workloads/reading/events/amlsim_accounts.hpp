// Account tables that AMLSim's converter writes next to its dated transactions.
#pragma once

#include <string>
#include <vector>

#include "workloads/graph/graph.hpp"

namespace strobe {

/// The tables that exist in the folder of `path`: accounts.csv and sar_accounts.csv, each plain or gzip.
std::vector<std::string> amlsim_account_tables(const std::string& path);

/// Gives every account of `graph` a label from the tables in the folder of `path`: 1 when accounts.csv flags it
/// (prior_sar_count, is_sar or is_fraud) or sar_accounts.csv lists it, once or several times, else 0. A note counts
/// where the two differ. Does nothing without tables. Throws InvalidInput for an account that accounts.csv lists twice,
/// or for one with transactions that it does not list.
void read_amlsim_accounts(const std::string& path, EventGraph& graph);

}  // namespace strobe
