// torch_process.cpp: Starts the helper and speaks JSON lines with it.
#include "worker/baselines/torch_process.hpp"

#include <algorithm>
#include <filesystem>
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/embedded.hpp"
#include "core/fields.hpp"
#include "core/log.hpp"
#include "core/text.hpp"
#include "model/problem/rule.hpp"
#include "model/problem/tensor.hpp"
#include "worker/timing/layer.hpp"
#include "worker/timing/sampler.hpp"
#include "worker/verify/tolerance.hpp"

namespace fatune {
namespace {

constexpr std::string_view kLoader = "torch_helper/load.py";
constexpr double kCompilePatience = 60;  // chosen: seconds; less than TorchPatience::open
constexpr std::size_t kQuoted = 80;      // chosen: characters of a line that is no answer

/// The loader as a program, and behind it path and text of each other file.
std::vector<std::string> helper_arguments() {
  std::vector<std::string> arguments = {"-c", ""};
  for (const EmbeddedFile& file : embedded_helper_files()) {
    if (file.path == kLoader) {
      arguments[1] = file.text;
    } else {
      arguments.emplace_back(file.path);
      arguments.emplace_back(file.text);
    }
  }
  FATUNE_CHECK(!arguments[1].empty(), "the helper's files are part of the program");
  return arguments;
}

Error with_remedy(const std::string& reason) {
  return environment_error(reason +
                           "; install PyTorch with CUDA (pytorch.org, \"Get started\"), or name "
                           "the Python that has it with --python");
}

std::string seconds(std::chrono::milliseconds time) {
  return describe(Seconds(std::chrono::duration<double>(time).count()));
}

Json open_order(const std::string& backend) { return {{"do", "open"}, {"backend", backend}}; }

/// Bound of the difference between two runs, relative to the output's norm: half of the bound to
/// the reference.
double varies_within(Dtype dtype) { return tolerance_factors(dtype).relative_l2 / 2; }

std::int64_t flush_bytes(const TorchSetting& setting) {
  return static_cast<std::int64_t>(SamplingPlan{}.flush_factor *
                                   static_cast<double>(setting.l2_bytes));
}

/// The layers that a backend is timed in; null for a problem that has none.
Json layer_of(const Attention& problem, std::int64_t l2_bytes) {
  const Layouts& layouts = problem.layouts;
  for (const Layout& each : {layouts.q, layouts.k, layouts.v, layouts.out}) {
    if (each.kind == LayoutKind::kStrides) return nullptr;
  }
  const auto plan = layer_plan(problem, l2_bytes);
  if (!plan) return nullptr;
  return {{"layers", plan->layers},
          {"tokens", plan->tokens},
          {"hidden", plan->hidden},
          {"packed", layouts.q.kind == LayoutKind::kPacked},
          {"cached_keys", plan->cached_keys}};
}

}  // namespace

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

/// Ignores that the helper cannot be written to: its missing answer shows it.
void TorchProcess::send_ahead(const Json& order) {
  ahead_.push_back(dump(order));
  log::debug("to the PyTorch helper, ahead: " + ahead_.back());
  static_cast<void>(process_.send(ahead_.back()));
}

/// Answers come in the order of the orders; the answers to orders sent ahead are skipped.
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
    return give_up(fmt::format("said '{}'", head(**line, kQuoted)) +
                   " instead of an answer and was ended");
  const Fields fields(*answer, "the PyTorch helper's answer");
  FATUNE_TRY(const bool ends, fields.boolean_or("ends", false));
  if (ends) end();
  FATUNE_TRY(const bool ok, fields.boolean_or("ok", false));
  if (ok) return answer;
  FATUNE_TRY(const std::string kind, fields.text_or("kind", "failed"));
  FATUNE_TRY(const std::string reason, fields.text_or("reason", "no reason given"));
  if (kind == "infeasible") return usage_error(reason);
  return kind == "environment" ? environment_error(reason) : device_error(reason);
}

/// Starts a Python without PyTorch only once.
void TorchProcess::launch(const std::string& python, const std::string& device_uuid) {
  if (process_.started() || unavailable_) return;
  if (!std::filesystem::path(python).is_absolute()) {
    unavailable_ = with_remedy("there is no program " + python + " on PATH");
    return;
  }
  ChildCommand command{.program = python, .arguments = helper_arguments()};
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

/// Carries the numbers of the timing method, which are the sampler's own.
Json TorchProcess::hello_order() const {
  const SamplingPlan plan;
  return {{"do", "hello"},
          {"method",
           {{"graph_us", plan.graph_time.value},
            {"max_graph_launches", plan.max_graph_launches},
            {"estimate_launches", plan.estimate_launches},
            {"slow_us", kSlowUs},
            {"long_us", kLongUs},
            {"steady", kSteadyLayer},
            {"most_passes", kMostLayerPasses},
            {"patience_s", kCompilePatience}}}};
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
  packages_.clear();
  if (fields.has("packages")) {
    FATUNE_TRY(const Fields versions, fields.object("packages"));
    for (const PythonPackage& each : kPythonPackages) {
      const std::string impl(each.impl);
      FATUNE_TRY(packages_[impl], versions.text_or(impl, ""));
    }
  }
  log::debug("PyTorch " + torch_ + " of " + setting.python);
  return {};
}

Result<std::string> TorchProcess::greet(const TorchSetting& setting) {
  FATUNE_TRY_STATUS(start(setting));
  return torch_;
}

std::string TorchProcess::version_of(const PythonPackage& package) const {
  const auto found = packages_.find(std::string(package.impl));
  return found == packages_.end() ? "" : found->second;
}

Status TorchProcess::load(const PythonPackage& package, const TorchSetting& setting) {
  FATUNE_TRY_STATUS(start(setting));
  FATUNE_TRY_STATUS(ask({{"do", "load"}, {"backend", std::string(package.impl)}}, patience_.hello));
  return {};
}

/// The memory of the tensors must stay until the helper has opened it.
void TorchProcess::pass_over_ahead() {
  while (!ahead_.empty()) {
    ahead_.pop_front();
    static_cast<void>(answer(patience_.open).operator bool());
  }
}

/// Returns an expression as calls for Python; null without one.
static Json calls_of(const std::string& text, RuleKind kind) {
  return text.empty() ? Json() : Json(PairRule::of(text, kind).calls());
}

/// Adds masks, expressions and layers.
static void add_attention(const TorchSetting& setting, Json& order) {
  const Attention& problem = setting.problem.as_attention();
  Mask bounds = problem.mask;
  bounds.rule.clear();
  order["mask_bounds"] = name(bounds);
  order["mask_expression"] = calls_of(problem.mask.rule, RuleKind::kMask);
  order["score_expression"] = calls_of(problem.score, RuleKind::kScore);
  order["layer"] = layer_of(problem, setting.l2_bytes);
  for (Json& tensor : order["tensors"]) {
    if (tensor["name"] == "bias" && problem.bias->type == BiasType::kBool) tensor["type"] = "bool";
  }
}

/// A problem that is not the last one gets new memory for its tensors.
Result<Json> TorchProcess::order_of(const TorchSetting& setting) {
  const Problem& problem = setting.problem;
  if (next_ && next_->first == problem) return next_->second;
  FATUNE_TRY(tensors_, SharedTensors::make(plan_of(problem, setting.custom)));
  Json order = {{"do", "problem"},
                {"problem", to_json(problem)},
                {"tensors", tensors_.tensors()},
                {"memory", tensors_.place()},
                {"flush_bytes", flush_bytes(setting)},
                {"varies_within", varies_within(problem.dtype())}};
  if (problem.attention() != nullptr) add_attention(setting, order);
  next_ = {problem, order};
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
  FATUNE_TRY(const Json answer, ask(open_order(backend), patience_.open));
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
  return source_ && std::ranges::all_of(tensors_.inputs(), [&](const std::string& tensor) {
           return source_->at(tensor) == source.at(tensor);
         });
}

void TorchProcess::inputs_are_of(const TensorAddresses& source) {
  source_ = source;
  inputs_are_new_ = true;
}

Json TorchProcess::about(const std::string& backend, const std::string& what) const {
  return {{"do", what}, {"backend", backend}, {"upload", inputs_are_new_}};
}

/// Sends the inputs with the order if they are new, or if the backend before may have changed them.
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
