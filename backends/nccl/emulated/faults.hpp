// Faults that tests make the emulated NCCL show.
#pragma once

namespace strobe::nccl::emulated {

/// Number of GPUs that the process seems to have; 64 at first.
void set_gpu_count(int count);
/// From now on NCCL reports an asynchronous error on this rank as soon as it is asked; -1 = on none.
void set_broken_rank(int rank);

}  // namespace strobe::nccl::emulated
