// messages.hpp: Declares the messages between the parent and a device worker.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/fields.hpp"
#include "core/result.hpp"
#include "model/kernel/candidate.hpp"
#include "model/problem/input_case.hpp"
#include "model/problem/problem.hpp"
#include "model/problem/tensor.hpp"
#include "model/results/measurement.hpp"
#include "worker/protocol/implementation.hpp"

namespace fatune {

/// A program that a worker runs: machine code with its launch plan, or a baseline.
struct Program {
  std::string cubin;  ///< path of the file
  LaunchPlan plan;
  std::optional<OutsideProgram> outside = {};  ///< if set, cubin and plan are empty
};

/// From the parent: prepare for a problem. The worker answers with ReadyReply, or with ErrorReply
/// if the reference is wrong.
struct BeginOrder {
  Problem problem;
  std::string checks_cubin;  ///< of kernels/common/checks.cu
  /// The reference, which writes fp32, and the low-precision reference. For one head: batch, heads
  /// and kv_heads are 1.
  Program reference, low_precision;
  /// fp8 only: the reference in the type of out, for the inputs before they were quantized.
  std::optional<Program> unquantized = {};
  std::vector<InputCase> cases;  ///< the first one is timed
  /// Set for a custom operation. Its reference and low-precision reference compute the whole
  /// problem; with a declared tolerance the latter is absent, and its cubin is empty.
  std::optional<OperationPlan> custom = {};
  double kernel_deadline_s = 10;
};
struct ReadyReply {
  double reference_us = 0;  ///< of all heads, one case
};

/// From the parent: these programs will follow on this problem. The worker opens the slow ones now.
struct ExpectOrder {
  Problem problem;
  std::vector<OutsideProgram> programs;
};
struct ExpectedReply {};  ///< as far as it could be opened

/// From the parent: check and time a candidate.
struct RunOrder {
  std::string id;  ///< of the candidate, for messages
  Program program;
  bool verify = true;
  bool locate_errors = false;  ///< fill RunReply::regions, which takes time where outputs are large
  bool hot = true, cold = false, in_layer = false;  ///< times to measure
  std::optional<double> best_hot_us,
      best_cold_us;  ///< give up at a multiple
};
struct RunReply : Observation {
  double verify_s = 0, timing_s = 0;
  std::string detail;                  ///< version and plan of a baseline
  std::vector<ErrorRegion> regions{};  ///< of outputs that the gate "accuracy" refused
  bool fatal = false;  ///< the worker ends after this answer; the parent starts another
};

/// From the parent: the interleaved rounds of the final phase.
struct RoundsOrder {
  std::vector<Program> contestants;
  int rounds = 40;
  int launches_per_round = 5;
  bool verify = true;     ///< check the timed graphs' outputs after the last round
  bool in_layer = false;  ///< also time between products, see timing/layer.hpp
  std::uint64_t seed = 42;
};
/// The rounds of one contestant; the parent computes the times and the verification.
struct RoundsRow : Observation {
  /// One value a round, or fewer for a slow contestant. `in_layer_us` also lacks the rounds in
  /// which the layer without attention was not steady.
  std::vector<double> hot_us, plain_us, cold_us, in_layer_us;
  std::int64_t hot_launches = 1;  ///< launches in the graph behind a hot value
  std::string detail;
  std::vector<PassedGate> gates;  ///< of timed launches
  std::vector<std::string> not_run;
};
struct RoundsReply {
  std::vector<RoundsRow> rows;  ///< in the order of the contestants
  /// "16 layers of 512, ...", or why there are no times in a layer.
  std::string layer_note;
};

/// From the worker, between order and answer.
struct ProgressNote {
  std::string phase;  ///< "verifying", "timing", "final 12/40"
};
/// From the worker: an operation failed, not a candidate. The process ends if the device is gone.
struct ErrorReply {
  Error error;
};

/// From the parent: open the device, or list all devices.
struct HelloOrder {};
struct DeviceReply {
  Environment environment;
};
struct ListOrder {};
struct DevicesReply {
  std::vector<ListedDevice> devices;
};

// Each message has "t": begin, ready, expect, expected, run, ran, rounds, rounded, progress, error,
// hello, device, list, devices.
void fields(Program& x, FieldList& f);
void fields(BeginOrder& x, FieldList& f);
void fields(ReadyReply& x, FieldList& f);
void fields(ExpectOrder& x, FieldList& f);
void fields(ExpectedReply& x, FieldList& f);
void fields(RunOrder& x, FieldList& f);
void fields(RunReply& x, FieldList& f);
void fields(RoundsOrder& x, FieldList& f);
void fields(RoundsRow& x, FieldList& f);
void fields(RoundsReply& x, FieldList& f);
void fields(ProgressNote& x, FieldList& f);
void fields(ErrorReply& x, FieldList& f);
void fields(HelloOrder& x, FieldList& f);
void fields(DeviceReply& x, FieldList& f);
void fields(ListOrder& x, FieldList& f);
void fields(DevicesReply& x, FieldList& f);

std::string message_type(const Json& message);
template <typename T>
Result<T> read_message(const Json& message) {
  return read_value<T>(message, "message between fatune and its device worker");
}

/// The job of a process that launches a program by itself, often under ncu. It verifies nothing, so
/// profile only candidates that passed the gates.
struct ProfileJob {
  int device = 0;
  Problem problem;
  std::optional<OperationPlan> custom = {};  ///< of a custom operation: its tensors
  Program program;
  int warm_ups = 3;          ///< passes before the profiler looks at one
  std::uint64_t seed = 42;   ///< of the inputs
  std::string outputs = {};  ///< folder for the outputs, NAME.bin each; empty: not kept
};
void fields(ProfileJob& x, FieldList& f);

/// Runs the hidden command `fatune device-worker [ORDINAL]`. Serves orders on descriptor 3 until it
/// closes, on the first device that it sees. It may write to `folders`. Returns the exit code.
int device_worker_main(std::span<const std::string> folders);
/// Runs the hidden command `fatune profile-worker JOB.json`. Returns the exit code.
int profile_worker_main(std::span<const std::string> args);

}  // namespace fatune
