// Checks whether predictions rank strategies as the papers' times do.
#pragma once

#include <vector>

#include "harness/validation/published.hpp"

namespace strobe {

/// Fills in the correctly ordered pairs, the winners and the means of Kendall's tau-b over the orders of all papers.
void take_orders(const std::vector<PublishedPaper>& papers, PublishedSummary& summary);

}  // namespace strobe
