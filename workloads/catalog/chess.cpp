// Games of chess between players, one directed edge from white to black; weight is the result, times are months.
// The months are 2,628,000 s apart; windows of 31 days are the slices of TM-GCN's released code.
#include "workloads/graph/plugins.hpp"

namespace strobe {
namespace {

const Register<DatasetTag> chess_registered{
    {"chess",
     "KONECT chess: 65,053 games of 7,301 players, 1998 to 2006 (bundled)",
     "KONECT, konect.cc/networks/chess",
     {},
     {.file = "chess/out.chess.gz",
      .sha256 = "763d85963179f5b13e655a4e67da491cf13030d778473a4c41d11d6b2557b823",
      .origin = "konect.cc/networks/chess",
      .licence = "CC BY-SA 2.0 DE",
      .format = "konect",
      .windowing = {.duration = "31d"},
      .expected_vertices = 7301,
      .expected_events = 65053},
     {}}};

}  // namespace
}  // namespace strobe
