// Work that exchanges messages several times, in which a process may fail between two exchanges.
#pragma once

#include <functional>

#include "workloads/partitioners/share_holders.hpp"

namespace strobe {

/// Calls work(holders) at every process. If one fails between two exchanges, it says so in the next one. All throw then
/// as in ShareHolders::exchange, and nobody waits for it. `work` must meet the others by exchanges of the holders that
/// it gets, and in no other way. All `holders` call it. Cost: one exchange more.
void run_exchanges(const ShareHolders& holders, const std::function<void(const ShareHolders&)>& work);

}  // namespace strobe
