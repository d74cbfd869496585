// Messages between students of the University of California, Irvine; 193 days of 2004, one directed edge a message.
#include "workloads/graph/plugins.hpp"

namespace strobe {
namespace {

const Register<DatasetTag> ucsocial_registered{
    {"ucsocial",
     "KONECT opsahl-ucsocial (UC Irvine messages): 59,835 messages of 1,899 users, 2004 (bundled)",
     "Opsahl and Panzarasa, Clustering in weighted networks, Social Networks 31(2), 2009; KONECT",
     {},
     {.file = "ucsocial/out.opsahl-ucsocial.gz",
      .sha256 = "96153975253c9256f9c0cb44db53010f78e3ad1c6d4508b7877c93c2f5c6e71c",
      .origin = "konect.cc/networks/opsahl-ucsocial",
      .licence = "CC BY-SA 2.0 DE",
      .format = "konect",
      .windowing = {.duration = "7d"},
      .expected_vertices = 1899,
      .expected_events = 59835},
     {}}};

}  // namespace
}  // namespace strobe
