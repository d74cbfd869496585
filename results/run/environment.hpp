// Facts about the machine, the build and the call: env.json, and the output of `strobe env`.
#pragma once

#include <string>

#include "core/fields.hpp"

namespace strobe {

/// The environment of this process: arguments, date (UTC), host, CPU, memory, GPUs, load, compiler and flags, library
/// versions, source revision and batch job. Also the environment variables whose names begin with NCCL_, CUDA_, OMPI_,
/// PRTE_, UCX_, SLURM_, OMP_ or STROBE_. Values that cannot be read are null. Never throws for a missing source.
Json environment();

/// "strobe VERSION (SHA)" of this program and its source. The SHA of a changed source ends in "-dirty". Without a known
/// source there is no parenthesis.
std::string version_text();

/// The release of this program, "" where it is not known. Makes no request.
std::string release();

/// "CPU MODEL x CORES; GPU MODEL x COUNT (driver N)" and its hash: {"text", "fingerprint"}. Wall times of two runs can
/// be compared only when the fingerprints are equal.
Json host_class();

/// The revision of the source in `tree`: {"git_sha", "dirty", "changes_sha256"}, from its .git. Without one, the values
/// of `stated` ("SHA", "SHA-dirty" or empty), and "stated_by". Unknown values are null.
Json source_revision(const std::string& tree, const std::string& stated);

}  // namespace strobe
