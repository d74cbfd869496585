// Figures of models of events, on documents small enough to check by hand.
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/results/figure_scripts.hpp"

namespace strobe {
namespace {

class EventFigures : public StudyFigures {};

constexpr const char* header = "event,part,source,destination,candidates,rank\n";

TEST_F(EventFigures, GainsBySourceAreThoseOfTheFiles) {
  // Source 7: 2 of 3 first, then 1 of 3; source 5: 0 of 1, then 1 of 1; source 6: the same.
  const std::string a = write("a.csv", std::string(header) +
                                           "1,test,7,1,9,1\n2,test,7,2,9,1.5\n3,test,5,1,9,2\n"
                                           "4,test,7,1,9,4\n5,test,6,1,9,1\n");
  const std::string b = write("b.csv", std::string(header) +
                                           "1,test,7,1,9,1\n2,test,7,2,9,3\n3,test,5,1,9,1\n"
                                           "4,test,7,1,9,2\n5,test,6,1,9,1\n");
  const std::string text =
      "import by_degree\n"
      "sources = by_degree.read_both('" +
      a + "', '" + b +
      "')\n"
      "assert sources == [(3, 2 / 3, 1 / 3), (1, 0.0, 1.0), (1, 1.0, 1.0)], sources\n"
      "better, worse, many, few = by_degree.summary(sources)\n"
      "assert (better, worse) == (1, 1) and abs(many + 1 / 3) < 1e-12 and few == 0, (many, few)\n";
  EXPECT_EQ(check(text), 0) << output();
  EXPECT_EQ(run({"by_degree.py", a, b, "--names", "static", "dynamic", "--out", folder_.file("f")}), 0) << output();
  EXPECT_NE(StudyFigures::text("f/by_degree.svg").find("1 sources better with static"), std::string::npos);
  const std::string other = write("c.csv", std::string(header) + "1,test,7,1,9,1\n");
  EXPECT_EQ(run({"by_degree.py", a, other, "--out", folder_.file("f")}), 2);
  EXPECT_NE(output().find("are not of the same events"), std::string::npos) << output();
  EXPECT_EQ(run({"by_degree.py", a, write("d.csv", "x,y\n1,2\n"), "--out", folder_.file("f")}), 2);
  EXPECT_NE(output().find("--dump-ranks"), std::string::npos) << output();
}

TEST_F(EventFigures, SweepsTakeTheTestMetricOfTheBestValidationEpoch) {
  const std::string text =
      "import sweep\n"
      "from strobe_figures import rows as r\n"
      "def row(k, validation, test):\n"
      "    return {'case_id': f'k{k}', 'strategy': {'k': k}, 'iterations': 10,\n"
      "            'metrics': {'mrr': test, 'validation_mrr': validation}}\n"
      "rows = [row(2, [None, 0.5, None, 0.7, 0.6], [None, 0.4, None, 0.3, 0.9]), row(1, [0.8, 0.1], [0.2, 0.6])]\n"
      "lines, name = sweep.points_of(rows, 'strategy.k', '')\n"
      "assert name == 'mrr' and lines == {0: [(1, (0.2, 0.0), (10, 0.0)), (2, (0.3, 0.0), (40, 0.0))]}, lines\n"
      "lone = {'case_id': 'x', 'metrics': {'mse': [3.0, 2.0]}, 'iterations': 1, 'ranks': 4}\n"
      "assert sweep.best(lone) == ('mse', 2.0, 2, 2)\n"
      "for wrong in (lambda: sweep.points_of(rows + [lone], 'ranks', ''), lambda: sweep.setting(rows[0], 'model'),\n"
      "              lambda: sweep.best({'case_id': 'y', 'metrics': {}})):\n"
      "    try:\n"
      "        wrong()\n"
      "        raise SystemExit('taken')\n"
      "    except r.Refused:\n"
      "        pass\n";
  EXPECT_EQ(check(text), 0) << output();
}

/// |(1, 0) - (2, 0)|^2 over |(2, 0)|^2; and the bytes of a file made by hand.
TEST_F(EventFigures, TheTableOfWaysKnowsVariancesAndWeights) {
  const std::string text =
      "import pathlib, runpy, struct\n"
      "table = runpy.run_path(sys.argv[1] + '/../disttgl_table')\n"
      "assert table['variance']([[1.0, 0.0], [3.0, 0.0]]) == 0.25\n"
      "header = b'{\"b\":{\"dtype\":\"F64\",\"shape\":[1,1],\"data_offsets\":[0,8]},'"
      "b'\"a\":{\"dtype\":\"F64\",\"shape\":[1,2],\"data_offsets\":[8,24]}}'\n"
      "file = pathlib.Path('" +
      folder_.file("w") +
      "')\n"
      "file.write_bytes(struct.pack('<Q', len(header)) + header + struct.pack('<3d', 5, 6, 7))\n"
      "assert list(table['weights_of'](file)) == [6, 7, 5]\n";
  EXPECT_EQ(check(text), 0) << output();
}

}  // namespace
}  // namespace strobe
