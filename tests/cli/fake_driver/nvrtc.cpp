// nvrtc.cpp: Fakes a libnvrtc.so that compiles nothing and logs successful attempts.
#include <cstring>
#include <string>

#include "attempts.hpp"

namespace {

constexpr int kSuccess = 0;
constexpr int kFailed = 6;  // NVRTC_ERROR_COMPILATION

std::string source, result, words;

int size_of(const std::string& text, std::size_t* size) {
  return *size = text.size() + 1, kSuccess;
}
int copy(const std::string& text, char* to) { return std::strcpy(to, text.c_str()), kSuccess; }

}  // namespace

extern "C" {

int nvrtcVersion(int* major, int* minor) { return *major = 13, *minor = 0, kSuccess; }
const char* nvrtcGetErrorString(int) { return "a fake"; }
int nvrtcGetNumSupportedArchs(int* count) { return *count = 1, kSuccess; }
int nvrtcGetSupportedArchs(int* archs) { return *archs = 90, kSuccess; }
int nvrtcCreateProgram(void** program, const char* text, const char*, int, const char* const*,
                       const char* const*) {
  source = text;
  *program = &source;
  return kSuccess;
}
int nvrtcDestroyProgram(void**) { return kSuccess; }
int nvrtcAddNameExpression(void*, const char*) { return kSuccess; }
/// Code of the line that fatune compiles first.
int nvrtcCompileProgram(void*, int, const char* const*) {
  result = "// fake";
  if (source.find("warm_up") != std::string::npos) return kSuccess;
  words = "fake.cu(1): error: could" + attempts::succeeded();
  return kFailed;
}
int nvrtcGetCUBINSize(void*, std::size_t* size) { return size_of(result, size); }
int nvrtcGetCUBIN(void*, char* code) { return copy(result, code); }
int nvrtcGetPTXSize(void*, std::size_t* size) { return size_of(result, size); }
int nvrtcGetPTX(void*, char* code) { return copy(result, code); }
int nvrtcGetProgramLogSize(void*, std::size_t* size) { return size_of(words, size); }
int nvrtcGetProgramLog(void*, char* log) { return copy(words, log); }

}  // extern "C"
