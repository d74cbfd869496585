// What is recorded about the machine, the build and the call: env.json, and what `strobe env` prints.
#pragma once

#include <string>

#include "core/fields.hpp"

namespace strobe {

/// The environment of this process: arguments, date (UTC), host, CPU, memory, GPUs, load, compiler and flags, library
/// versions, source revision, batch job, and the environment variables whose names begin with NCCL_, CUDA_, OMPI_,
/// PRTE_, UCX_, SLURM_, OMP_ or STROBE_. What cannot be read is null. Never throws for a missing source.
Json environment();

/// "strobe VERSION (SHA)" of this program and its source, with "-dirty" behind a changed one's SHA, and without the
/// parenthesis where the source is not known.
std::string version_text();

/// The release of this program, "" where it is not known. Asks nobody.
std::string release();

/// "CPU MODEL x CORES; GPU MODEL x COUNT (driver N)" and its hash: {"text", "fingerprint"}. Wall times of two runs can
/// be compared only when the fingerprints are equal.
Json host_class();

/// The revision of the source in `tree`: {"git_sha", "dirty", "changes_sha256"}, from its .git; without one, what
/// `stated` ("SHA", "SHA-dirty" or empty) says, with "stated_by" beside it. What neither says is null.
Json source_revision(const std::string& tree, const std::string& stated);

}  // namespace strobe
