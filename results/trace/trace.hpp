// Traces: the spans of a case as Chrome trace JSON, which Perfetto and chrome://tracing open. Real and simulated runs
// give the same form, so their tracks can be laid side by side.
#pragma once

#include <string>
#include <vector>

#include "backends/span.hpp"

namespace strobe {

/// The trace of a case from its spans [ranks][spans]. One process per rank, numbered from 1. One thread per stream, and
/// more where spans of a stream overlap without nesting ("communicate 2": exchanges in flight), so that the spans of a
/// thread nest or follow each other. Times are microseconds with nanosecond digits from the earliest span's begin
/// (`otherData.origin_seconds` on the recorded clock). A counter per process shows the memory in use. Ranges of the
/// program (models/tape/range_log.hpp) have the thread `program`. A wait is called "wait for" and the name of the work.
/// An arrow leads from the rank that came last to a collective to each other rank (trace_flows.hpp). Equal spans give
/// equal text, byte for byte. Clocks of different ranks are not adjusted.
std::string trace_json(const std::string& case_id, const std::vector<std::vector<Span>>& ranks,
                       const std::string& time_source);

}  // namespace strobe
