// The route of one process through servers, where each process lists its own rows alone.
#pragma once

#include "harness/full_batch/exchange/plan_builder.hpp"
#include "harness/full_batch/exchange/server_route.hpp"

namespace strobe {

/// The route of `scope.rank`, with the lists of that rank, and the numbers of rows between all others. It has the bits
/// of the route that is made from the lists of all ranks. Every process of `scope.together` calls it with its own part
/// of the same plan. Owners tell readers and servers where rows lie. Memory: 16 bytes for each row that the rank
/// sends, reads or stores, and 8 for each pair of rank and server.
ServerRoute route_in_parts(const ExchangePlan& plan, const ListScope& scope);

/// The plan of rows that never go back.
ExchangePlan one_way(PlanBuilder& builder);

}  // namespace strobe
