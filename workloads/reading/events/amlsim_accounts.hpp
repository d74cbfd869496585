// Account tables that AMLSim's converter writes beside its dated transactions.
#pragma once

#include <string>
#include <vector>

#include "workloads/graph/graph.hpp"

namespace strobe {

/// The tables beside `path` that are there: accounts.csv and sar_accounts.csv, each plain or gzip.
std::vector<std::string> amlsim_account_tables(const std::string& path);

/// Gives every account of `graph` a label from the tables beside `path`: 1 when accounts.csv flags it (prior_sar_count,
/// is_sar or is_fraud) or sar_accounts.csv lists it, once or several times, else 0; a note counts where the two
/// differ. Nothing without tables. Throws InvalidInput for an account that is twice in accounts.csv or, having
/// transactions, not in it.
void read_amlsim_accounts(const std::string& path, EventGraph& graph);

}  // namespace strobe
