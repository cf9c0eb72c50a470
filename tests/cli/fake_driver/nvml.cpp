// nvml.cpp: Fakes libnvidia-ml.so.1 with a GPU in the state of FATUNE_FAKE_GPU: "busy hot mig".
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

constexpr int kSuccess = 0;
constexpr int kTooSmall = 7;

bool is(const char* word) {
  const char* state = std::getenv("FATUNE_FAKE_GPU");
  return state != nullptr && std::strstr(state, word) != nullptr;
}

struct Process {
  unsigned pid;
  unsigned long long used_memory;
  unsigned gpu_instance, compute_instance;
};
struct Utilization {
  unsigned gpu, memory;
};
struct Memory {
  unsigned long long total, free, used;
};
constexpr unsigned long long kGiB = 1ULL << 30;

int answer(unsigned* value, unsigned number) { return *value = number, kSuccess; }

}  // namespace

extern "C" {

int nvmlInit_v2() { return kSuccess; }
int nvmlShutdown() { return kSuccess; }
const char* nvmlErrorString(int) { return "a fake"; }
int nvmlDeviceGetHandleByPciBusId_v2(const char*, void** device) {
  return *device = device, kSuccess;
}
int nvmlDeviceGetClockInfo(void*, int, unsigned* mhz) {
  return answer(mhz, is("slow") ? 990 : is("working") || is("throttled") ? 1980 : 345);
}
int nvmlDeviceGetMaxClockInfo(void*, int, unsigned* mhz) { return answer(mhz, 1980); }
int nvmlDeviceGetTemperature(void*, int, unsigned* celsius) {
  return answer(celsius, is("hot") ? 88 : 31);
}
int nvmlDeviceGetPowerUsage(void*, unsigned* milliwatts) { return answer(milliwatts, 75000); }
int nvmlDeviceGetCurrentClocksEventReasons(void*, unsigned long long* reasons) {
  *reasons = is("throttled") ? 0x40 : is("working") || is("slow") ? 0 : 0x1;
  return kSuccess;
}
int nvmlDeviceGetComputeRunningProcesses_v3(void*, unsigned* count, Process* processes) {
  const unsigned room = *count;
  *count = is("shared") ? 1 : 0;
  if (*count > room) return kTooSmall;
  if (*count == 1)
    processes[0] = {.pid = 4711, .used_memory = 3 * kGiB, .gpu_instance = 0, .compute_instance = 0};
  return kSuccess;
}
int nvmlDeviceGetUtilizationRates(void*, Utilization* rates) {
  *rates = {.gpu = is("working") ? 97U : 0U, .memory = 0};
  return kSuccess;
}
int nvmlDeviceGetMemoryInfo(void*, Memory* memory) {
  const unsigned long long used = is("full") ? 12 * kGiB : kGiB / 2;
  *memory = {.total = 140 * kGiB, .free = 140 * kGiB - used, .used = used};
  return kSuccess;
}
int nvmlDeviceGetPersistenceMode(void*, unsigned* on) {
  return answer(on, is("unloading") ? 0 : 1);
}
int nvmlDeviceGetComputeMode(void*, unsigned* mode) {
  return answer(mode, is("prohibited") ? 2 : is("exclusive") ? 3 : 0);
}
int nvmlDeviceGetMigMode(void*, unsigned* current, unsigned* pending) {
  *pending = 0;
  return answer(current, is("mig") ? 1 : 0);
}
int nvmlSystemGetDriverVersion(char* text, unsigned size) {
  std::snprintf(text, size, "580.0.0");
  return kSuccess;
}

}  // extern "C"
