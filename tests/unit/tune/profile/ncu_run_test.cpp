// ncu_run_test.cpp: Runs a script as ncu, and checks command line, counters and failures.
#include "tune/profile/ncu_run.hpp"

#include <algorithm>

#include <catch2/catch_test_macros.hpp>

#include "core/file.hpp"
#include "core/interrupt.hpp"
#include "support/temporary_folder.hpp"
#include "tune/profile/counters.hpp"

using namespace fatune;

namespace {

constexpr const char* kGmma = "sm__inst_executed_pipe_tensor_op_gmma.sum";

/// A shell script in place of ncu; $log, $metrics and $report are the values of --log-file,
/// --metrics and --export.
class FakeNcu {
 public:
  explicit FakeNcu(const std::string& body) {
    const std::string parse =
        "#!/bin/sh\nall=\"$*\"\n"
        "while [ $# -gt 0 ]; do case $1 in --log-file) log=$2;; --metrics) metrics=$2;; "
        "--export) report=$2;; esac; "
        "shift; done\npage='" +
        std::string(FATUNE_TEST_DATA_DIR) + "/profile/fa_wgmma.csv'\n";
    REQUIRE(replace_file(path(), parse + body));
    std::filesystem::permissions(path(), std::filesystem::perms::owner_all);
  }
  std::filesystem::path path() const { return folder_ / "ncu"; }
  NcuRequest request() const {
    return {.ncu = path(),
            .program = "/bin/fatune",
            .arguments = {"profile-worker", "job.json"},
            .arch = Arch{90, 'a'}};
  }
  NcuOutcome run() const {
    const auto outcome = run_ncu(request());
    REQUIRE(outcome);
    return *outcome;
  }
  std::string file(const char* name) const {
    const auto text = read_file(folder_ / name);
    return text ? *text : "";
  }
  std::string folder() const { return folder_.path().string(); }

 private:
  test::TemporaryFolder folder_;
};

}  // namespace

TEST_CASE("ncu's arguments leave the clocks alone and profile the program's range") {
  const NcuRequest request{
      .ncu = "ncu", .program = "/bin/fatune", .arguments = {"w", "j"}, .arch = Arch{90, 'a'}};
  const auto arguments = ncu_arguments(request, {"a.sum", "b.pct"}, "/t/ncu.csv");
  const std::string line = [&] {
    std::string text;
    for (const std::string& each : arguments) text += each + " ";
    return text;
  }();
  CHECK(line ==
        "--csv --page raw --print-units base --log-file /t/ncu.csv --kernel-name-base function "
        "--profile-from-start off --replay-mode kernel --cache-control all --clock-control none "
        "--metrics a.sum,b.pct /bin/fatune w j ");
}

TEST_CASE("ncu's own report is kept where it is wanted, with all that Nsight Compute shows") {
  const FakeNcu ncu(
      "cp \"$page\" \"$log\"; echo \"$all\" > \"$(dirname \"$0\")/asked\"; [ -z \"$report\" ] || "
      "echo kept > \"$(printf %s \"$report\" | sed s/%%/%/g).ncu-rep\"\n");
  CHECK(ncu.run().report.empty());
  CHECK(ncu.file("asked").find("--export") == std::string::npos);
  NcuRequest request = ncu.request();
  request.report = ncu.folder() + "/50%.ncu-rep";
  const auto outcome = run_ncu(request);
  REQUIRE(outcome);
  CHECK(outcome->report == "50%.ncu-rep");
  CHECK(ncu.file("50%.ncu-rep") == "kept\n");
  CHECK(ncu.file("asked").find("--clock-control none --export " + ncu.folder() +
                               "/50%% --force-overwrite --set full --metrics") !=
        std::string::npos);
  request.report = ncu.folder() + "/none/50.ncu-rep";  // cannot be written
  const auto without = run_ncu(request);
  REQUIRE(without);
  CHECK(without->status == ProfileStatus::kProfiled);
  CHECK(without->report.empty());
}

TEST_CASE("a run gives counters") {
  const FakeNcu ncu("cp \"$page\" \"$log\"; echo \"$all\" > \"$(dirname \"$0\")/asked\"\n");
  const NcuOutcome outcome = ncu.run();
  CHECK(outcome.status == ProfileStatus::kProfiled);
  REQUIRE(outcome.launches.size() == 1);
  CHECK(outcome.launches.front().kernel == "fa_wgmma");
  CHECK(outcome.launches.front().tensor_pct == 63.41);
  CHECK(outcome.dropped ==
        std::vector<std::string>{"smsp__warp_issue_stalled_gmma_per_warp_active.pct"});
  const std::string asked = ncu.file("asked");
  CHECK(asked.find("/bin/fatune profile-worker job.json") != std::string::npos);
  CHECK(asked.find("gpu__time_duration.sum,sm__pipe_tensor_cycles_active") != std::string::npos);
}

TEST_CASE("metrics that ncu does not know are dropped and named") {
  const FakeNcu ncu("case $metrics in *" + std::string(kGmma) +
                    "*) echo '==ERROR== Failed to find metric " + kGmma +
                    "' > \"$log\"; exit 1;; esac; cp \"$page\" \"$log\"\n");
  const NcuOutcome outcome = ncu.run();
  CHECK(outcome.status == ProfileStatus::kProfiled);
  REQUIRE_FALSE(outcome.dropped.empty());
  CHECK(outcome.dropped.front() == kGmma);
}

TEST_CASE("a refusal of the driver comes with remedies") {
  const FakeNcu ncu(
      "echo '==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access NVIDIA GPU "
      "Performance Counters' > \"$log\"; exit 1\n");
  const NcuOutcome outcome = ncu.run();
  CHECK(outcome.status == ProfileStatus::kDenied);
  CHECK(outcome.reason.starts_with("ERR_NVGPUCTRPERM: "));
  CHECK(outcome.remedies.size() == 4);
  CHECK(outcome.launches.empty());
}

TEST_CASE("a refusal is seen on stdout too") {
  CHECK(FakeNcu("echo '==ERROR== ERR_NVGPUCTRPERM'\n").run().status == ProfileStatus::kDenied);
}

TEST_CASE("an ncu that is too old fails with its own words") {
  const FakeNcu ncu(
      "echo '==ERROR== Profiling is not supported on device 0. To find out supported GPUs refer "
      "--list-chips option.' > \"$log\"; exit 1\n");
  const NcuOutcome outcome = ncu.run();
  CHECK(outcome.status == ProfileStatus::kFailed);
  CHECK(outcome.reason ==
        "Profiling is not supported on device 0. To find out supported GPUs refer --list-chips "
        "option.");
  CHECK_FALSE(outcome.remedies.empty());
}

TEST_CASE("the profiled program's own error is the reason") {
  const FakeNcu ncu(
      "echo 'fatune: error: cannot load the cubin'; echo '==ERROR== The application returned an "
      "error code (1).' > \"$log\"; exit 1\n");
  CHECK(ncu.run().reason == "cannot load the cubin");
}

TEST_CASE("an ncu that complains of a metric that was never asked for does not run forever") {
  const FakeNcu ncu(
      "echo x >> \"$(dirname \"$0\")/runs\"; echo 'Failed to find metric other.sum' "
      "> \"$log\"; exit 1\n");
  CHECK(ncu.run().status == ProfileStatus::kFailed);
  CHECK(ncu.file("runs") == "x\n");
}

TEST_CASE("ncu may crash, say nothing, or hang") {
  CHECK(FakeNcu("echo 'libcuda.so.1: not found' >&2; exit 9\n").run().reason ==
        "ncu ended with exit status 9: libcuda.so.1: not found");
  CHECK(FakeNcu("kill -SEGV $$\n").run().reason.starts_with("ncu ended with signal SIGSEGV"));
  CHECK(FakeNcu("exit 0\n").run().reason == "ncu printed no table of metrics");
  const FakeNcu hanging("sleep 60\n");
  NcuRequest request = hanging.request();
  request.patience = std::chrono::seconds(1);
  const auto outcome = run_ncu(request);
  REQUIRE(outcome);
  CHECK(outcome->status == ProfileStatus::kFailed);
  CHECK(outcome->reason == "ncu did not come to an end");
}

TEST_CASE("Ctrl-C ends ncu") {
  const FakeNcu ncu("sleep 60\n");
  request_interrupt();
  const auto outcome = run_ncu(ncu.request());
  clear_interrupt();
  REQUIRE_FALSE(outcome);
  CHECK(outcome.error().kind == ErrorKind::kInterrupted);
}

TEST_CASE("names are taken out of complaints") {
  CHECK(unknown_metrics("==ERROR== Failed to find metric a.sum\n"
                        "==WARNING== Failed to find metric b.pct, skipped\n"
                        "something else\n") == std::vector<std::string>{"a.sum", "b.pct"});
}

TEST_CASE("without ncu the outcome says what to install") {
  const NcuOutcome outcome = no_ncu();
  CHECK(name(outcome.status) == "not_run");
  CHECK(outcome.remedies.front().find("cuda-nsight-compute") != std::string::npos);
}
