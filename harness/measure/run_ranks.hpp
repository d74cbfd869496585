// Which processes `strobe run` is one of, and what they must have in common.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "harness/measure/run_request.hpp"
#include "harness/process/ranks.hpp"

namespace strobe {

/// The cases that are asked for, and the world whose ranks its processes are. Where all cases were given a communicator
/// of one process (--comm local, or the suite's key), a launcher's processes are independent of each other, and each is
/// a world of its own, which this one then leaves. Throws InvalidRequest for what is wrong with the request, and when a
/// case would run in every process without having been told to. A process that cannot tell its cases, as it lacks a
/// file of theirs, tells the others, who may be about to wait for it, where flags or the suite name the communicator by
/// which they meet; all of them then end with Told.
std::pair<Suite, World> cases_and_world(RunRequest& request);

/// The ranks that train the suite together: those of its cases' communicator.
Ranks ranks_of(const Suite& suite, const World& world);

/// All that decides the suite's numbers and what is exchanged beside them, by name: cases, files with their SHA-256,
/// flags, the release of the program, and `trained`, a digest of each case. What cannot be read says why.
Json account_of(const RunRequest& request, const Suite& suite, const std::vector<std::string>& trained);

/// The part of it that costs no reading of files, as 32 bytes.
std::string agreed_digest(const RunRequest& request, const Suite& suite, const std::vector<std::string>& trained);

}  // namespace strobe
