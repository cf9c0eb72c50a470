// torch_process.cpp - starts the helper, speaks JSON lines with it, and notices when it does not.
#include "worker/baselines/torch_process.hpp"

#include <cerrno>
#include <cmath>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/mman.h>
#include <unistd.h>

#include "core/check.hpp"
#include "core/embedded.hpp"
#include "core/fields.hpp"
#include "core/log.hpp"
#include "core/text.hpp"
#include "model/problem/problem.hpp"
#include "worker/verify/tolerance.hpp"

namespace fatune {
namespace {

constexpr std::string_view kScript = "torch_helper.py";
constexpr std::size_t kTensorPage = 4096;  // each tensor begins at one
constexpr std::size_t kQuoted = 80;        // characters of what is no answer

std::string script() {
  for (const EmbeddedFile& file : embedded_helper_files()) {
    if (file.path == kScript) return std::string(file.text);
  }
  FATUNE_CHECK(false, "the helper's script is part of the program");
}

Error with_remedy(const std::string& reason) {
  return environment_error(reason +
                           "; install PyTorch with CUDA (pytorch.org, \"Get started\"), or name "
                           "the Python that has it with --python");
}

std::string seconds(std::chrono::milliseconds time) {
  return describe(Seconds(std::chrono::duration<double>(time).count()));
}

/// How far two runs may be from each other, relative to the output's norm: half of what a run may
/// be from the reference.
double varies_within(Dtype dtype) { return tolerance_factors(dtype).relative_l2 / 2; }

}  // namespace

Result<SharedTensors> SharedTensors::make(const Problem& problem) {
  SharedTensors tensors;
  const std::size_t query = query_bytes(problem).value, key = key_bytes(problem).value;
  tensors.sizes_ = {query, key, key, query};
  for (std::size_t i = 0; i < tensors.sizes_.size(); ++i) {
    tensors.starts_[i] = tensors.bytes_;
    tensors.bytes_ += (tensors.sizes_[i] + kTensorPage - 1) / kTensorPage * kTensorPage;
  }
  const auto problem_with = [&](const std::string& what) {
    return device_error(fmt::format("cannot {} {} of host memory to share with a helper: {}", what,
                                    describe(Bytes(tensors.bytes_)),
                                    std::generic_category().message(errno)));
  };
  tensors.file_ = ::memfd_create("fatune-tensors", MFD_CLOEXEC);
  if (tensors.file_ < 0) return problem_with("make");
  if (::ftruncate(tensors.file_, static_cast<off_t>(tensors.bytes_)) != 0)
    return problem_with("reserve");
  void* data =
      ::mmap(nullptr, tensors.bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, tensors.file_, 0);
  if (data == MAP_FAILED) return problem_with("map");
  tensors.data_ = static_cast<std::byte*>(data);
  return tensors;
}

SharedTensors::SharedTensors(SharedTensors&& other) noexcept { *this = std::move(other); }

SharedTensors& SharedTensors::operator=(SharedTensors&& other) noexcept {
  if (this == &other) return *this;
  release();
  file_ = std::exchange(other.file_, -1);
  data_ = std::exchange(other.data_, nullptr);
  bytes_ = other.bytes_;
  starts_ = other.starts_;
  sizes_ = other.sizes_;
  return *this;
}

SharedTensors::~SharedTensors() { release(); }

void SharedTensors::release() {
  if (data_ != nullptr) ::munmap(data_, bytes_);
  if (file_ >= 0) ::close(file_);
  data_ = nullptr;
  file_ = -1;
}

std::span<std::byte> SharedTensors::operator[](Tensor which) const {
  return {data_ + starts_[which], sizes_[which]};
}

Json SharedTensors::place() const {
  return {{"path", fmt::format("/proc/{}/fd/{}", ::getpid(), file_)},
          {"bytes", bytes_},
          {"q", starts_[kQ]},
          {"k", starts_[kK]},
          {"v", starts_[kV]},
          {"out", starts_[kOut]}};
}

void TorchProcess::end() {
  if (process_.started()) process_.stop();
  greeted_ = false;
  problem_.reset();
  opened_.clear();
  inputs_are_new_ = true;
}

Error TorchProcess::give_up(const std::string& how) {
  end();
  return device_error("the PyTorch helper " + how);
}

Result<Json> TorchProcess::ask(const Json& order, std::chrono::milliseconds patience) {
  log::debug("to the PyTorch helper: " + dump(order));
  if (!process_.send(dump(order))) return give_up("ended: " + describe(process_.stop()));
  return answer(patience);
}

Result<Json> TorchProcess::answer(std::chrono::milliseconds patience) {
  const auto ended = [&] { return give_up("ended: " + describe(process_.stop())); };
  const auto line = process_.receive(patience);
  if (!line) return ended();
  if (!*line) return give_up("was silent for " + seconds(patience) + " and was ended");
  log::debug("from the PyTorch helper: " + **line);
  auto answer = parse_json(**line, "the PyTorch helper's answer");
  if (!answer || !answer->is_object() || !answer->contains("ok"))
    return give_up("said '" + (*line)->substr(0, kQuoted) + "' instead of an answer and was ended");
  const Fields fields(*answer, "the PyTorch helper's answer");
  FATUNE_TRY(const bool ends, fields.boolean_or("ends", false));
  if (ends) end();
  FATUNE_TRY(const bool ok, fields.boolean_or("ok", false));
  if (ok) return answer;
  FATUNE_TRY(const std::string kind, fields.text_or("kind", "failed"));
  FATUNE_TRY(const std::string reason, fields.text_or("reason", "no reason given"));
  return kind == "environment" ? environment_error(reason) : device_error(reason);
}

/// A Python without PyTorch is asked once only.
void TorchProcess::launch(const std::string& python, const std::string& device_uuid) {
  if (process_.started() || unavailable_) return;
  if (!std::filesystem::path(python).is_absolute()) {
    unavailable_ = with_remedy("there is no program " + python + " on PATH");
    return;
  }
  ChildCommand command{.program = python, .arguments = {"-c", script()}};
  if (!device_uuid.empty())
    command.extra_environment.push_back("CUDA_VISIBLE_DEVICES=" + device_uuid);
  auto process = LineProcess::start(std::move(command));
  if (!process) {
    unavailable_ = with_remedy(process.error().message);
    return;
  }
  process_ = *std::move(process);
  // One that cannot read this is gone, which its missing answer tells.
  static_cast<void>(process_.send(dump({{"do", "hello"}})));
}

Status TorchProcess::start(const TorchSetting& setting) {
  launch(setting.python, setting.device_uuid);
  if (unavailable_) return *unavailable_;
  if (greeted_) return {};
  const auto answer = this->answer(patience_.hello);
  if (!answer) {
    const Error error = answer.error();
    end();
    if (error.kind == ErrorKind::kEnvironment) {
      unavailable_ = with_remedy(error.message);
      return *unavailable_;
    }
    return with_context(error, "starting " + setting.python + " for PyTorch");
  }
  greeted_ = true;
  const Fields fields(*answer, "the PyTorch helper's greeting");
  FATUNE_TRY(torch_, fields.text("torch"));
  FATUNE_TRY(cudnn_, fields.text_or("cudnn", ""));
  log::debug("PyTorch " + torch_ + " of " + setting.python);
  return {};
}

Result<std::string> TorchProcess::greet(const TorchSetting& setting) {
  FATUNE_TRY_STATUS(start(setting));
  return torch_;
}

Status TorchProcess::begin(const TorchSetting& setting) {
  if (problem_ == setting.problem) return {};
  problem_.reset();
  opened_.clear();
  inputs_are_new_ = true;
  source_.reset();
  FATUNE_TRY(tensors_, SharedTensors::make(setting.problem));
  FATUNE_TRY(const Json answer, ask({{"do", "problem"},
                                     {"problem", to_json(setting.problem)},
                                     {"memory", tensors_.place()},
                                     {"flush_bytes", setting.flush_bytes},
                                     {"varies_within", varies_within(setting.problem.dtype)}},
                                    patience_.order));
  static_cast<void>(answer);
  problem_ = setting.problem;
  return {};
}

Status TorchProcess::open(const std::string& backend, const TorchSetting& setting) {
  FATUNE_TRY_STATUS(start(setting));
  FATUNE_TRY_STATUS(begin(setting));
  if (opened_.contains(backend)) return {};
  FATUNE_TRY(const Json answer, ask({{"do", "open"}, {"backend", backend}}, patience_.order));
  const Fields fields(answer, "the PyTorch helper's answer");
  FATUNE_TRY(std::string ran, fields.text("ran"));
  FATUNE_TRY(std::string note, fields.text_or("note", ""));
  opened_[backend] = {std::move(ran), std::move(note), std::nullopt};
  return {};
}

std::string TorchProcess::detail(const std::string& backend) const {
  const auto found = opened_.find(backend);
  if (found == opened_.end()) return "";
  const std::string& ran = found->second.ran;
  const std::string& note = found->second.note;
  return "PyTorch " + torch_ + ", " + (ran == backend ? "" : backend + " took ") + ran +
         (ran == "cudnn" && !cudnn_.empty() ? " (cuDNN " + cudnn_ + ")" : "") +
         (note.empty() ? "" : ", " + note);
}

bool TorchProcess::has_inputs_of(const TensorAddresses& source) const {
  return source_ && source_->q == source.q && source_->k == source.k && source_->v == source.v;
}

void TorchProcess::inputs_are_of(const TensorAddresses& source) {
  source_ = source;
  inputs_are_new_ = true;
}

Json TorchProcess::about(const std::string& backend, const std::string& what) const {
  return {{"do", what}, {"backend", backend}, {"upload", inputs_are_new_}};
}

Status TorchProcess::run(const std::string& backend) {
  FATUNE_TRY(const Json answer, ask(about(backend, "run"), patience_.order));
  static_cast<void>(answer);
  inputs_are_new_ = false;
  return {};
}

Result<std::int64_t> TorchProcess::prepare(const std::string& backend) {
  const auto opened = opened_.find(backend);
  FATUNE_CHECK(opened != opened_.end(), "a backend is opened first");
  if (opened->second.launches) return *opened->second.launches;
  FATUNE_TRY(const Json answer, ask(about(backend, "prepare"), patience_.order));
  inputs_are_new_ = false;
  FATUNE_TRY(const std::int64_t launches,
             Fields(answer, "the PyTorch helper's answer").integer("launches"));
  opened->second.launches = launches;
  return launches;
}

Result<TurnTimes> TorchProcess::turn(const std::string& backend, int cold_launches) {
  Json order = about(backend, "turn");
  order["cold_launches"] = cold_launches;
  FATUNE_TRY(const Json answer, ask(order, patience_.order));
  inputs_are_new_ = false;
  const Fields fields(answer, "the PyTorch helper's times");
  TurnTimes times;
  FATUNE_TRY(times.hot_us, fields.number("hot_us"));
  FATUNE_TRY(times.cold_us, fields.number("cold_us"));
  if (!(times.hot_us > 0) || !(*times.cold_us > 0))
    return device_error("the PyTorch helper told a time that is none: " + dump(answer));
  return times;
}

}  // namespace fatune
