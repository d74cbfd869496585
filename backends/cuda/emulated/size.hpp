// How large the emulated GPU says it is.
#pragma once

namespace strobe::cuda::emulated {

/// Multiprocessors that launch_limits() gives the calling thread. Few, so that small cases have several rounds of
/// blocks; a test of what a real GPU would choose sets its number.
inline thread_local int multiprocessors = 4;

}  // namespace strobe::cuda::emulated
