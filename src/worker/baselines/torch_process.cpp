// torch_process.cpp - starts the helper, speaks JSON lines with it, and notices when it does not.
#include "worker/baselines/torch_process.hpp"

#include <algorithm>
#include <cerrno>
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
#include "model/problem/tensor.hpp"
#include "worker/timing/layer.hpp"
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

Json hello_order() { return {{"do", "hello"}}; }

Json open_order(const std::string& backend) { return {{"do", "open"}, {"backend", backend}}; }

/// How far two runs may be from each other, relative to the output's norm: half of what a run may
/// be from the reference.
double varies_within(Dtype dtype) { return tolerance_factors(dtype).relative_l2 / 2; }

/// What the helper needs to time a backend in a layer; null where it cannot.
Json layer_of(const TorchSetting& setting) {
  const Layouts& layouts = setting.problem.layouts;
  for (const Layout& each : {layouts.q, layouts.k, layouts.v, layouts.out}) {
    if (each.kind == LayoutKind::kStrides) return nullptr;
  }
  const auto plan = layer_plan(setting.problem, setting.flush_bytes / kTorchFlushFactor);
  if (!plan) return nullptr;
  return {{"layers", plan->layers},
          {"tokens", plan->tokens},
          {"hidden", plan->hidden},
          {"packed", layouts.q.kind == LayoutKind::kPacked},
          {"cached_keys", plan->cached_keys}};
}

}  // namespace

SharedTensors::Memory::~Memory() {
  if (data != nullptr) ::munmap(data, bytes);
  if (file >= 0) ::close(file);
}

Result<SharedTensors> SharedTensors::make(const Problem& problem) {
  SharedTensors tensors;
  tensors.memory_ = std::make_unique<Memory>();
  Memory& memory = *tensors.memory_;
  std::vector<TensorPlan> plans = attention_plan(problem).tensors;
  std::erase_if(plans, [](const TensorPlan& tensor) { return tensor.name == "lse"; });
  for (const BufferPlan& buffer : buffers_of(plans)) {
    for (const std::size_t i : buffer.tensors)
      tensors.parts_[plans[i].name].start =
          memory.bytes + static_cast<std::size_t>(plans[i].first) * plans[i].width();
    tensors.parts_[plans[buffer.tensors.front()].name].bytes = buffer.bytes;
    memory.bytes += (buffer.bytes + kTensorPage - 1) / kTensorPage * kTensorPage;
  }
  const auto problem_with = [&](const char* what) {
    return device_error(fmt::format("cannot {} {} of host memory to share with a helper: {}", what,
                                    describe(Bytes(memory.bytes)),
                                    std::generic_category().message(errno)));
  };
  memory.file = ::memfd_create("fatune-tensors", MFD_CLOEXEC);
  if (memory.file < 0) return problem_with("make");
  if (::ftruncate(memory.file, static_cast<off_t>(memory.bytes)) != 0)
    return problem_with("reserve");
  void* data = ::mmap(nullptr, memory.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory.file, 0);
  if (data == MAP_FAILED) return problem_with("map");
  memory.data = static_cast<std::byte*>(data);
  return tensors;
}

std::span<std::byte> SharedTensors::operator[](std::string_view tensor) const {
  const auto found = parts_.find(tensor);
  FATUNE_CHECK(found != parts_.end(), "a tensor of the problem is asked for");
  return {memory_->data + found->second.start, found->second.bytes};
}

std::vector<std::string> SharedTensors::inputs() const {
  std::vector<std::string> names;
  for (const auto& [name, part] : parts_) {
    if (name != "out" && part.bytes > 0) names.push_back(name);
  }
  return names;
}

Json SharedTensors::place() const {
  Json places = Json::object();
  for (const auto& [name, part] : parts_) places[name] = part.start;
  return {{"path", fmt::format("/proc/{}/fd/{}", ::getpid(), memory_->file)},
          {"bytes", memory_->bytes},
          {"places", places}};
}

void TorchProcess::end() {
  if (process_.started()) process_.stop();
  greeted_ = false;
  ahead_.clear();
  problem_.reset();
  opened_.clear();
  inputs_are_new_ = true;
}

Error TorchProcess::give_up(const std::string& how) {
  end();
  return device_error("the PyTorch helper " + how);
}

/// One that cannot read this is gone, which its missing answer tells.
void TorchProcess::send_ahead(const Json& order) {
  ahead_.push_back(dump(order));
  log::debug("to the PyTorch helper, ahead: " + ahead_.back());
  static_cast<void>(process_.send(ahead_.back()));
}

/// Answers come in the order of the orders: those that nobody asked about are passed over.
Result<Json> TorchProcess::ask(const Json& order, std::chrono::milliseconds patience) {
  const std::string line = dump(order);
  if (std::ranges::find(ahead_, line) == ahead_.end()) {
    log::debug("to the PyTorch helper: " + line);
    if (!process_.send(line)) return give_up("ended: " + describe(process_.stop()));
    ahead_.push_back(line);
  }
  for (;;) {
    const bool asked = ahead_.front() == line;
    ahead_.pop_front();
    auto said = answer(patience);
    if (asked || !process_.started()) return said;
  }
}

Result<Json> TorchProcess::answer(std::chrono::milliseconds patience) {
  const auto line = process_.receive(patience);
  if (!line) return give_up("ended: " + describe(process_.stop()));
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
  send_ahead(hello_order());
}

Status TorchProcess::start(const TorchSetting& setting) {
  launch(setting.python, setting.device_uuid);
  if (unavailable_) return *unavailable_;
  if (greeted_) return {};
  const auto answer = ask(hello_order(), patience_.hello);
  if (!answer) {
    const Error& error = answer.error();
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
  neighbours_.clear();
  if (fields.has("neighbours")) {
    FATUNE_TRY(const Fields versions, fields.object("neighbours"));
    for (const Neighbour& each : kNeighbours) {
      const std::string impl(each.impl);
      FATUNE_TRY(neighbours_[impl], versions.text_or(impl, ""));
    }
  }
  log::debug("PyTorch " + torch_ + " of " + setting.python);
  return {};
}

Result<std::string> TorchProcess::greet(const TorchSetting& setting) {
  FATUNE_TRY_STATUS(start(setting));
  return torch_;
}

std::string TorchProcess::version_of(const Neighbour& neighbour) const {
  const auto found = neighbours_.find(std::string(neighbour.impl));
  return found == neighbours_.end() ? "" : found->second;
}

Status TorchProcess::load(const Neighbour& neighbour, const TorchSetting& setting) {
  FATUNE_TRY_STATUS(start(setting));
  FATUNE_TRY_STATUS(
      ask({{"do", "load"}, {"backend", std::string(neighbour.impl)}}, patience_.hello));
  return {};
}

/// The memory of the tensors must stay until the helper has opened it.
void TorchProcess::pass_over_ahead() {
  while (!ahead_.empty()) {
    ahead_.pop_front();
    static_cast<void>(answer(patience_.order).operator bool());
  }
}

/// Where the problem is another than the last, with new memory for its tensors.
Result<Json> TorchProcess::order_of(const TorchSetting& setting) {
  if (next_ && next_->first == setting.problem) return next_->second;
  FATUNE_TRY(tensors_, SharedTensors::make(setting.problem));
  Json strides;
  for (const char* tensor : {"q", "k", "v", "out"})
    strides[tensor] = strides_of(setting.problem, tensor).all();
  const Json order = {{"do", "problem"},
                      {"problem", to_json(setting.problem)},
                      {"strides", strides},
                      {"memory", tensors_.place()},
                      {"flush_bytes", setting.flush_bytes},
                      {"layer", layer_of(setting)},
                      {"varies_within", varies_within(setting.problem.dtype)}};
  next_ = {setting.problem, order};
  return order;
}

Status TorchProcess::begin(const TorchSetting& setting) {
  if (problem_ == setting.problem) return {};
  problem_.reset();
  opened_.clear();
  inputs_are_new_ = true;
  source_.reset();
  if (next_ && next_->first != setting.problem) pass_over_ahead();
  FATUNE_TRY(const Json order, order_of(setting));
  FATUNE_TRY_STATUS(ask(order, patience_.order));
  problem_ = setting.problem;
  return {};
}

void TorchProcess::open_ahead(const std::string& backend, const TorchSetting& setting) {
  launch(setting.python, setting.device_uuid);
  if (unavailable_ || next_) return;
  const auto order = order_of(setting);
  if (!order) return;
  send_ahead(*order);
  send_ahead(open_order(backend));
}

Status TorchProcess::open(const std::string& backend, const TorchSetting& setting) {
  FATUNE_TRY_STATUS(start(setting));
  FATUNE_TRY_STATUS(begin(setting));
  if (opened_.contains(backend)) return {};
  FATUNE_TRY(const Json answer, ask(open_order(backend), patience_.order));
  const Fields fields(answer, "the PyTorch helper's answer");
  Opened opened;
  FATUNE_TRY(opened.ran, fields.text("ran"));
  FATUNE_TRY(opened.note, fields.text_or("note", ""));
  FATUNE_TRY(opened.library, fields.text_or("library", ""));
  opened_[backend] = std::move(opened);
  return {};
}

std::string TorchProcess::detail(const std::string& backend) const {
  const auto found = opened_.find(backend);
  if (found == opened_.end()) return "";
  const auto& [ran, note, library, launches] = found->second;
  const std::string remark = note.empty() ? "" : ", " + note;
  if (!library.empty()) return fmt::format("{}, {}{}", library, ran, remark);
  return fmt::format("PyTorch {}, {}{}{}{}", torch_, ran == backend ? "" : backend + " took ", ran,
                     ran == "cudnn" && !cudnn_.empty() ? " (cuDNN " + cudnn_ + ")" : "", remark);
}

bool TorchProcess::has_inputs_of(const TensorAddresses& source) const {
  const auto same = [&](const char* tensor) { return source_->at(tensor) == source.at(tensor); };
  return source_ && same("q") && same("k") && same("v");
}

void TorchProcess::inputs_are_of(const TensorAddresses& source) {
  source_ = source;
  inputs_are_new_ = true;
}

Json TorchProcess::about(const std::string& backend, const std::string& what) const {
  return {{"do", what}, {"backend", backend}, {"upload", inputs_are_new_}};
}

/// The inputs go with the order, if they are new, or if who had them last may have spoilt them.
Result<Json> TorchProcess::carry_out(const Json& order) {
  auto answer = ask(order, patience_.order);
  inputs_are_new_ = !answer;
  return answer;
}

Status TorchProcess::run(const std::string& backend) {
  FATUNE_TRY_STATUS(carry_out(about(backend, "run")));
  return {};
}

Result<std::int64_t> TorchProcess::prepare(const std::string& backend) {
  const auto opened = opened_.find(backend);
  FATUNE_CHECK(opened != opened_.end(), "a backend is opened first");
  if (opened->second.launches) return *opened->second.launches;
  FATUNE_TRY(const Json answer, carry_out(about(backend, "prepare")));
  FATUNE_TRY(const std::int64_t launches,
             Fields(answer, "the PyTorch helper's answer").integer("launches"));
  opened->second.launches = launches;
  return launches;
}

Result<TurnTimes> TorchProcess::turn(const std::string& backend, int cold_launches) {
  Json order = about(backend, "turn");
  order["cold_launches"] = cold_launches;
  FATUNE_TRY(const Json answer, carry_out(order));
  const Fields fields(answer, "the PyTorch helper's times");
  TurnTimes times;
  FATUNE_TRY(times.hot_us, fields.number("hot_us"));
  FATUNE_TRY(times.cold_us, fields.number("cold_us"));
  if (!(times.hot_us > 0) || !(*times.cold_us > 0))
    return device_error("the PyTorch helper told a time that is none: " + dump(answer));
  return times;
}

Result<std::optional<LayerTurn>> TorchProcess::layer_turn(const std::string& backend) {
  FATUNE_TRY(const Json answer, carry_out(about(backend, "layer_turn")));
  if (!answer.contains("in_layer_us")) return std::optional<LayerTurn>{};
  const Fields fields(answer, "the PyTorch helper's times");
  FATUNE_TRY(const double us, fields.number("in_layer_us"));
  FATUNE_TRY(const bool steady, fields.boolean_or("steady", false));
  return std::optional(LayerTurn{us, steady});
}

}  // namespace fatune
