// The processes of one `strobe run`, and the settings that they must share.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "harness/measure/run_request.hpp"
#include "harness/process/ranks.hpp"

namespace strobe {

/// Returns the requested cases, and the world with the ranks of its processes. When all cases name a communicator of
/// one process (--comm local, or the suite's key), processes of a launcher are independent. Each is then a world of its
/// own, so this one leaves the launcher's world.
///
/// Throws InvalidRequest for a wrong request. It also throws when a case would run in every process without naming such
/// a communicator. A process that cannot read its cases, for example because a file is missing, informs the others, who
/// may be about to wait for it. This needs a communicator that flags or the suite name. All processes then end with
/// AlreadyReported.
std::pair<Suite, World> cases_and_world(RunRequest& request);

/// The ranks that train the suite together: those of its cases' communicator.
Ranks ranks_of(const Suite& suite, const World& world);

/// Everything that decides the suite's numbers and the exchanges during the run, by name. This is the cases, files with
/// their SHA-256, flags, the program's release, and `trained`, a digest of each case. For a file that cannot be read,
/// the value is the error message.
Json account_of(const RunRequest& request, const Suite& suite, const std::vector<std::string>& trained);

/// A digest, in 32 bytes, of the parts of account_of that need no reading of data files.
std::string agreed_digest(const RunRequest& request, const Suite& suite, const std::vector<std::string>& trained);

}  // namespace strobe
