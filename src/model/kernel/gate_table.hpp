// gate_table.hpp: Lists every gate that a kernel must pass: its name, what it demands, and why.
//
// A gate needs a row of this table. A gate that runs on the device also needs the function
// check_NAME() in a file of src/worker/gates. docs/correctness.md explains the gates at length.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "core/fields_fwd.hpp"

namespace fatune {

/// When the device worker asks a gate.
enum class GateMoment {
  kEveryRun,  ///< after each launch that is verified
  kInputSet,  ///< on each set of inputs, before anything is timed
  kOnce,      ///< after the sets of inputs
  kTimed,     ///< after the timing
  kLayer      ///< after the timing between the products of a layer
};

// X(enumerator, name, statement, why, usual cause): gates of the text and of the machine code.
#define FATUNE_GATES_BEFORE_LAUNCH(X)                                                              \
  X(kSource, source, "device code that includes fatune's common/ and headers of CUDA, no library", \
    "a submission reads nothing else of this machine",                                             \
    "an include of another file or library, a path in the manifest, or a manifest field "          \
    "that only fatune's own kernels may have")                                                     \
  X(kConstraints, constraints, "the manifest's rules and the device's limits hold",                \
    "a launch that cannot run is not tried", "choose other values, or widen the manifest's rules") \
  X(kCompilation, compilation, "NVRTC makes machine code of it", "there is no other compiler",     \
    "the line below is the first that the compiler refused")                                       \
  X(kState, state,                                                                                 \
    "machine code has no global memory of its own, calls nothing of the driver, and reads "        \
    "neither time nor place",                                                                      \
    "launches are alike, whoever watches; scratch memory is declared in the manifest",             \
    "a __device__ variable (make it __constant__, or declare scratch memory in the "               \
    "manifest), printf, assert or malloc, a call through a pointer, or a read of clock64, "        \
    "%globaltimer or %smid")

// X(enumerator, name, moment, statement, why, usual cause), in the order in which they are asked.
#define FATUNE_DEVICE_GATES(X)                                                                    \
  X(kLaunch, launch, kInputSet,                                                                   \
    "every launch is accepted, ends in time and leaves the context whole",                        \
    "hangs and illegal addresses end a candidate, not the judge",                                 \
    "more shared memory than the manifest says, an address beyond a tensor, a barrier that "      \
    "not every thread reaches")                                                                   \
  X(kPoison, poison, kInputSet, "every element of every output is written",                       \
    "outputs and scratch memory are filled with patterns before each run",                        \
    "rows or columns of the last tile that no thread stores, or scratch memory that is "          \
    "read before it is written")                                                                  \
  X(kInputs, inputs, kEveryRun, "inputs are as they were", "other kernels read the inputs, too",  \
    "a tile that is written back to where it was loaded from")                                    \
  X(kGuardBands, guard_bands, kEveryRun,                                                          \
    "nothing around a tensor or between its rows is read or written",                             \
    "in a program other data lies there",                                                         \
    "the last tile is stored, or loaded, beyond the tensor's end")                                \
  X(kAccuracy, accuracy, kInputSet, "the rules of 'tolerance' hold on inputs of several kinds",   \
    "inputs are drawn anew, and are not told",                                                    \
    "look at the regions: one that is wrong alone names the tile, mask or head; all of "          \
    "them alike name the scale, the softmax or the order of the products")                        \
  X(kRepeat, repeat, kInputSet, "the same inputs give the same bits",                             \
    "a race shows as a difference",                                                               \
    "threads read shared memory before others have written it, or atomics add in any order")      \
  X(kEarlyStart, early_start, kOnce, "a dependent launch waits for the kernel before it",         \
    "its inputs may be written until then",                                                       \
    "the kernel reads its inputs, or writes its output, before griddepcontrol.wait "              \
    "(cudaGridDependencySynchronize)")                                                            \
  X(kPhysics, physics, kTimed, "no time is below what the device can do at its highest clocks",   \
    "less work was done than the problem has", "the timed launches skip work")                    \
  X(kTimedOutput, timed_output, kTimed,                                                           \
    "timed launches leave right outputs, on other inputs, too",                                   \
    "a result that is kept from launch to launch is none",                                        \
    "a result is kept from launch to launch instead of computed")                                 \
  X(kSameWork, same_work, kTimed, "timed launches take as long on unseen inputs as on seen ones", \
    "a result that is kept from launch to launch shows as time",                                  \
    "an answer is looked up in scratch memory, or in the old output, where the inputs are "       \
    "those of an earlier launch; or work is skipped behind a launch of the kernel itself")        \
  X(kPersistingL2, persisting_l2, kTimed, "nothing is set aside in the L2 cache",                 \
    "lines set aside are lost to every other kernel",                                             \
    "a library raised the limit for persisting lines; hints inside the kernel (evict_last) are "  \
    "allowed")                                                                                    \
  X(kCarryOver, carry_over, kTimed, "the kernel behind finds in the cache what it had there",     \
    "a program's time is that of all its kernels",                                                \
    "loads or stores that hold their lines in the L2 cache (evict_last), or traffic far beyond "  \
    "reading the inputs once and writing the outputs once")                                       \
  X(kInLayer, in_layer, kLayer, "between the products of a layer the output is the same",         \
    "that is where attention runs",                                                               \
    "the kernel is right by itself, and wrong between other kernels: it depends on "              \
    "addresses, on old contents of the output, or starts before the product in front of it "      \
    "has ended")

// X(enumerator, name, statement, why, usual cause): gates of the final phase.
#define FATUNE_GATES_OF_FINALS(X)                                                                \
  X(kEdgeProblems, edge_problems, "short, odd and large problems are right, too, in mode final", \
    "a kernel is used at other sizes, as well",                                                  \
    "lengths that no tile divides, rows that see no key, heads that share keys, or a grid "      \
    "that is sized for the submitted problem: bounds or strides are written as numbers "         \
    "instead of macros")

#define FATUNE_ENUMERATOR(id, ...) id,
/// A correctness check, in the order in which a kernel meets them.
enum class GateId {
  FATUNE_GATES_BEFORE_LAUNCH(FATUNE_ENUMERATOR) FATUNE_DEVICE_GATES(FATUNE_ENUMERATOR)
      FATUNE_GATES_OF_FINALS(FATUNE_ENUMERATOR)
};
#undef FATUNE_ENUMERATOR

/// A row of the table.
struct GateText {
  GateId id;
  std::string_view name;         ///< in journals, manifests and reasons
  std::string_view statement;    ///< what the gate demands
  std::string_view why;          ///< why it demands that
  std::string_view usual_cause;  ///< what a refusal usually means, for the author of the kernel
};

/// Every gate, in the order of GateId.
std::span<const GateText> gate_table();
std::string_view name(GateId gate);
/// "source, constraints, ..."
const std::string& gate_names();
/// Null if no gate has this name.
const GateText* find_gate(std::string_view name);
FieldWord<GateId> word_of(const GateId*);

}  // namespace fatune
