// The Python package reads the rows in one call, with losses, metrics and parameters as columns.
#include <nlohmann/json.hpp>

#include "tests/cli/program.hpp"

namespace strobe::cli_test {
namespace {

class PythonPackage : public Program {
 protected:
  void SetUp() override {
    if (std::system("python3 -c 'import pandas' 2> /dev/null") == 0)
      python_ = "python3";
    else if (std::system("/usr/bin/python3 -c 'import pandas' 2> /dev/null") == 0)
      python_ = "/usr/bin/python3";
    else
      GTEST_SKIP() << "there is no Python with pandas";
    ASSERT_EQ(strobe({"run", "--workload", tiny, "--epochs", "3", "--vary", "strategy=snapshot,vertex", "--ranks", "2",
                      "--set", "model.hidden=5", "--out", "o"})
                  .status,
              0);
  }

  Outcome python(const std::string& program) {
    write_text(folder_ / "program.py", "import json, sys\nsys.path.insert(0, '" STROBE_SOURCE_DIR
                                       "/python')\nimport strobe_results as strobe\n"
                                       "rows = json.load(open('o/summary.json'))['rows']\n" +
                                           program);
    return finish(start({python_, path("program.py")}));
  }

  std::string python_;
};

TEST_F(PythonPackage, RowsAreLinesWithPlainColumns) {
  const Outcome outcome = python(R"(
cases = strobe.read('o')
assert list(cases['strategy']) == ['snapshot', 'vertex'] and set(cases['model.hidden']) == {5}, cases
for line, row in zip(cases.to_dict('records'), rows):
    assert line['loss'] == row['loss'][-1] and line['auc'] == row['metrics']['auc'][-1]
    assert line['epoch_seconds'] == row['epoch_seconds']['median'] and line['epochs'] == 3 and line['ranks'] == 2
    assert line['sent_bytes.total'] == row['sent_bytes']['total'] and line['auc.samples'] == row['metric_samples']['auc']
    assert line['phase_seconds.wait'] == row['phase_seconds']['wait'] and line['run'] == 'o'
both = strobe.read(['o', 'o'])
assert len(both) == 2 * len(cases) and both['epoch_seconds'].dtype == float
)");
  EXPECT_EQ(outcome.status, 0) << outcome.err;
}

TEST_F(PythonPackage, CurvesAndSamplesAreLong) {
  const Outcome outcome = python(R"(
curves = strobe.curves('o')
for row in rows:
    own = curves[curves['case_id'] == row['case_id']]
    assert list(own['loss']) == row['loss'] and list(own['epoch']) == [0, 1, 2, 3], own
    assert list(own['mrr']) == row['metrics']['mrr']
with open('o/samples.jsonl', 'a') as file: file.write('{"case_id": "torn')
samples = strobe.samples('o')
assert len(samples) == 2 * 2 * 4 and set(samples['rank']) == {0, 1}
slowest = samples[~samples['warmup']].groupby(['case_id', 'epoch'])['epoch_seconds'].max().groupby('case_id').median()
for row in rows: assert slowest[row['case_id']] == row['epoch_seconds']['median']
)");
  EXPECT_EQ(outcome.status, 0) << outcome.err;
}

TEST_F(PythonPackage, TheAnswersOfTheProgramAreLines) {
  const Outcome outcome = python(R"(
import os, shutil, subprocess
program = ')" STROBE_BINARY R"('
table = strobe.compare('o', by='strategy', program=program)
printed = json.loads(subprocess.run([program, 'compare', 'o', '--by', 'strategy', '--json'], stdout=subprocess.PIPE).stdout)
assert strobe.answers('o', program=program) == printed
assert list(table['strategy']) == [c['value'] for c in printed['questions'][0]['contenders']], table
assert table['epoch_seconds'].dtype == float and list(table['work.cells']) == [rows[0]['epoch_work']['cells']] * 2
assert table.attrs['sentences'] == [printed['questions'][0]['sentences']]
os.environ['STROBE_PROGRAM'] = program
for copy in ('o2', 'o3'): shutil.copytree('o', copy)
assert len(strobe.compare(['o', 'o2', 'o3'])) == 6, 'a case of three runs is a contender in each'
for call, kind, word in ((lambda: strobe.compare('o', by='kernels'), strobe.NotComparable, 'kernels'),
                         (lambda: strobe.compare('o', by='stratgy'), strobe.NotComparable, "'strategy'"),
                         (lambda: strobe.compare('nowhere'), strobe.NotARun, 'nowhere'),
                         (lambda: strobe.compare('o', program='no-such-strobe'), strobe.NoProgram, 'no-such-strobe'),
                         (lambda: strobe.compare('o', program='/bin/false'), strobe.NoProgram, 'status 1')):
    try: call()
    except kind as error: assert word in str(error), error
    else: raise AssertionError(word)
)");
  EXPECT_EQ(outcome.status, 0) << outcome.err;
}

TEST_F(PythonPackage, WhatIsNoRunSaysWhichFile) {
  const Outcome outcome = python(R"(
import os
os.mkdir('d')
for text in ('', '3', '{"rows": 3}', '{"rows": [1]}'):
    open('d/summary.json', 'w').write(text)
    for call in (strobe.read, strobe.curves):
        try: call('d')
        except strobe.NotARun as error: assert 'd/summary.json' in str(error), error
        else: raise AssertionError(text)
try: strobe.samples('nowhere')
except strobe.NotARun as error: assert 'nowhere/samples.jsonl' in str(error)
else: raise AssertionError('nowhere')
)");
  EXPECT_EQ(outcome.status, 0) << outcome.err;
}

}  // namespace
}  // namespace strobe::cli_test
