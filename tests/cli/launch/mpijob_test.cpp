// The job for Kubernetes: fields that the MPI Operator knows (types and validation of MPIJob v2beta1, version 0.6),
// numbers that fit each other, files that are installed, and a command that Strobe accepts.
#include <nlohmann/json.hpp>

#include "tests/cli/program.hpp"
#include "tests/results/python.hpp"

namespace strobe::cli_test {
namespace {

/// Writes the words of the launcher's command of Strobe to words.json.
constexpr const char* judge_job = R"(import json, re, shlex, sys, yaml
job = yaml.safe_load(open(sys.argv[1]))
known = {
    'job': {'apiVersion', 'kind', 'metadata', 'spec'},
    'spec': {'slotsPerWorker', 'runLauncherAsWorker', 'runPolicy', 'mpiReplicaSpecs', 'sshAuthMountPath',
             'launcherCreationPolicy', 'mpiImplementation'},
    'runPolicy': {'cleanPodPolicy', 'ttlSecondsAfterFinished', 'activeDeadlineSeconds', 'backoffLimit',
                  'schedulingPolicy', 'suspend', 'managedBy'},
    'replicas': {'replicas', 'template', 'restartPolicy'}}
def fits(value, kind):
    assert set(value) <= known[kind], (kind, set(value) - known[kind])
    return value
assert (job['apiVersion'], job['kind']) == ('kubeflow.org/v2beta1', 'MPIJob')
spec = fits(fits(job, 'job')['spec'], 'spec')
policy = fits(spec['runPolicy'], 'runPolicy')
assert policy['cleanPodPolicy'] in ('None', 'Running', 'All') and policy['backoffLimit'] >= 0
assert spec['launcherCreationPolicy'] in ('AtStartup', 'WaitForWorkersReady')
assert set(spec['mpiReplicaSpecs']) == {'Launcher', 'Worker'}
launcher, worker = (fits(spec['mpiReplicaSpecs'][name], 'replicas') for name in ('Launcher', 'Worker'))
assert launcher['replicas'] == 1 and worker['replicas'] >= 1
# A worker that fails and is never restarted stays: the operator makes only pods again that are gone.
assert launcher['restartPolicy'] == worker['restartPolicy'] == 'OnFailure'
last = f"{job['metadata']['name']}-worker-{worker['replicas'] - 1}"
assert len(last) < 64 and re.fullmatch('[a-z0-9]([-a-z0-9]*[a-z0-9])?', last), last
for replica in (launcher, worker):
    pod = replica['template']['spec']
    container, = pod['containers']
    assert {mount['name'] for mount in container['volumeMounts']} == {volume['name'] for volume in pod['volumes']}
assert container['resources']['limits']['nvidia.com/gpu'] == spec['slotsPerWorker'], 'a GPU for each rank'
script, = launcher['template']['spec']['containers'][0]['args']
command = shlex.split(re.search(r'\bstrobe ((?:\\\n|[^\n])*)', script)[1].replace('\\\n', ' '))
assert int(command[command.index('--ranks') + 1]) == spec['slotsPerWorker'] * worker['replicas'], 'a rank for each slot'
json.dump({'command': command, 'files': re.findall(r'\$launch/(\w+)', script)}, open('words.json', 'w'))
)";

class MpiJob : public Program {};

TEST_F(MpiJob, HasKnownFieldsFittingNumbersAndACommandThatRuns) {
  const std::string python = testing_results::find_python("yaml");
  if (python.empty()) GTEST_SKIP() << "no Python with yaml (apt: python3-yaml)";
  write_text(folder_ / "judge.py", judge_job);
  const Outcome judged = finish(start({python, "judge.py", STROBE_SOURCE_DIR "/scripts/launch/mpijob.yaml"}));
  ASSERT_EQ(judged.status, 0) << judged.err;
  const Json words = read_json(folder_ / "words.json");
  EXPECT_EQ(words.at("files").size(), 3u);
  for (const Json& file : words.at("files"))
    EXPECT_TRUE(std::filesystem::exists(STROBE_SOURCE_DIR "/scripts/launch/" + file.get<std::string>())) << file;
  std::vector<std::string> command = words.at("command");
  for (std::string& word : command) word = word == "cuda" ? "cpu" : word == "nccl" ? "local" : word;
  command.emplace_back("--dry-run");
  const Outcome planned = strobe(command);
  EXPECT_EQ(planned.status, 0) << planned.err;
  EXPECT_NE(planned.out, "");
}

}  // namespace
}  // namespace strobe::cli_test
