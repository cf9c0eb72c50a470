// suite.cpp: Parses a problem file to a checked list of problems.
#include "model/problem/suite.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/fields.hpp"
#include "core/hash.hpp"
#include "core/text.hpp"
#include "model/problem/scores.hpp"

namespace fatune {
namespace {

Status read_shape(Attention& x, const Json& json, const FieldPlace& place) {
  if (!json.is_string()) return place.error(wrong_type("a string", json));
  Result<Attention> parsed = parse_shape(json.get<std::string>(), "");
  if (!parsed) return place.error(parsed.error().message);
  x = *std::move(parsed);
  return {};
}

Status read_causal(Attention& x, const Json& json, const FieldPlace& place) {
  if (!json.is_boolean()) return place.error(wrong_type("true or false", json));
  x.mask = json.get<bool>() ? Mask::kCausal : Mask::kNone;
  return {};
}

/// For people who read the file.
Status read_source(NamedProblem&, const Json& json, const FieldPlace& place) {
  return json.is_string() ? Status() : place.error(wrong_type("a string", json));
}

/// Puts quotes around the words that Python's json writes for infinite numbers.
std::string with_infinities_as_text(std::string_view text) {
  std::string read;
  bool quoted = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const std::string_view rest = text.substr(at);
    if (rest.front() == '"') quoted = !quoted;
    const bool escapes = quoted && rest.front() == '\\';
    const std::size_t sign = !quoted && rest.front() == '-' ? 1 : 0;
    const bool infinite = !quoted && rest.substr(sign).starts_with("Infinity");
    if (infinite) read += sign == 1 ? "\"-inf\"" : "\"inf\"";
    const std::size_t taken = infinite ? sign + 8 : escapes ? 2 : 1;
    if (!infinite) read += rest.substr(0, taken);
    at += taken - 1;
  }
  return read;
}

/// Completes a problem that is read; returns its fault.
std::string complete(Attention& x) {
  if (!x.out_dtype) x.out_dtype = default_out_dtype(x.dtype);
  x = with_value_dim(x, x.value_columns());
  if (x.scale) x = with_scale(x, *x.scale);
  x.mask = canonical(x.mask, x.seq_q, x.seq_kv);
  const Status score = x.score.empty() ? Status() : set_score(x, x.score);
  if (!score) return score.error().message;
  const Status valid = validate(x);
  return valid ? "" : valid.error().message;
}

void unchecked_fields(Attention& x, FieldList& f) {
  f.by_hand();
  f.read_by("shape", x, read_shape)
      .required()
      .schema(R"({"type":"string"})")
      .about("batch,heads,seq,head_dim");
  f("kv_heads", x.kv_heads);
  f("seq_kv", x.seq_kv);
  f("value_dim", x.value_dim).about("Columns of v and out, where not head_dim");
  f("dtype", x.dtype);
  f("out_dtype", x.out_dtype);
  f("quant", x.quant);
  f("mask", x.mask).about("Which keys a query sees");
  f.read_by("causal", x, read_causal).schema(R"({"type":"boolean"})").about("Short for a mask");
  f("lse", x.lse);
  f("layout", x.layouts);
  f("scale", x.scale).about("Scale of the scores before the softmax [1/sqrt(head_dim)]");
  f("softcap", x.softcap).about("Scores become softcap * tanh(score / softcap)");
  f("bias", x.bias)
      .about("Added to scores: batch,heads,seq_q,seq_kv, then :f32 or :bool, @strides");
  f("alibi", x.alibi).about("Scores fall by slope * |query's position - key|");
  f("sink", x.sink).about("The softmax of each row has one more term, exp(sink)");
  f("score", x.score).about("What a score becomes, as an expression of score, b, h, q, k");
  f("tensors", x.tensors).about("Tensors that expressions read: NAME=TYPE[SIZE]:VALUES");
}

void entry_fields(NamedProblem& x, FieldList& f) {
  f.by_hand();
  f("name", x.name).required().filled();
  unchecked_fields(x.problem.as_attention(), f);
  f.read_by("source", x, read_source)
      .schema(R"({"type":"string"})")
      .about("Where the sizes are from");
}

/// Returns "[1].name 'a' is used twice"; empty if all problems differ.
std::string repeat_fault(const std::vector<NamedProblem>& problems) {
  for (std::size_t i = 0; i < problems.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (problems[j].name == problems[i].name)
        return fmt::format("[{}].name '{}' is used twice", i, problems[i].name);
      if (problems[j].problem == problems[i].problem)
        return fmt::format("[{}].shape is the same problem as '{}'", i, problems[j].name);
    }
  }
  return {};
}

/// Completes the problems, and leaves out those that contradict themselves. Returns the fault of a
/// suite with two equal problems, or with no other.
std::string settle(Suite& x) {
  std::vector<std::string> faults;
  for (NamedProblem& each : x.problems) faults.push_back(complete(each.problem.as_attention()));
  if (std::string repeated = repeat_fault(x.problems); !repeated.empty()) return repeated;
  std::vector<NamedProblem> sound;
  for (std::size_t i = 0; i < faults.size(); ++i) {
    if (faults[i].empty()) {
      sound.push_back(std::move(x.problems[i]));
    } else {
      x.left_out.push_back(fmt::format("{}: {}", x.problems[i].name, faults[i]));
    }
  }
  if (sound.empty()) return "[0] " + faults.front();
  x.problems = std::move(sound);
  return {};
}

}  // namespace

void suite_fields(Attention& x, FieldList& f) {
  unchecked_fields(x, f);
  f.rule("", [&x] { return complete(x); });
}

void fields(Suite& x, FieldList& f) {
  f.document("fatune.problems");
  f.by_hand();
  f("name", x.name).required();
  f("summary", x.summary);
  f.as<entry_fields>("problems", x.problems).required().filled();
  f.read_by("capture", [](const Json&, const FieldPlace&) {
     return Status();
   }).about("The report of `python -m fatune capture`");
  f.rule_within("problems", [&x] { return settle(x); });
}

void fields(NamedProblem& x, FieldList& f) {
  f("name", x.name).required();
  f("problem", x.problem).required();
}

Result<Suite> parse_suite(std::string_view text, const std::string& where) {
  FATUNE_TRY(const Json document, parse_json(with_infinities_as_text(text), where));
  return read_value<Suite>(document, where);
}

std::string label(const NamedProblem& named) {
  return (named.name.empty() ? "" : named.name + " ") + describe(named.problem);
}

std::string score_slug(const Attention& p) {
  std::string text = p.scale ? fmt::format("-scale{}", *p.scale) : "";
  if (p.softcap) text += fmt::format("-softcap{}", *p.softcap);
  if (!p.score.empty()) text += "-score-" + crc32_hex(p.score);
  if (p.bias) text += "-bias-" + slug(*p.bias);
  if (p.alibi) text += "-alibi";
  if (p.sink) text += "-sink";
  std::string tensors;
  for (const NamedTensor& each : p.tensors) tensors += name(each);
  return tensors.empty() ? text : text + "-tensors-" + crc32_hex(tensors);
}

std::string size_slug(const CustomProblem& problem) {
  std::string text;
  for (const NamedSize& size : problem.sizes)
    text += fmt::format("-{}{}", lower(size.name), size.value);
  return problem.dtype ? text + fmt::format("-{}", name(*problem.dtype)) : text;
}

std::string slug(const Problem& problem) {
  if (const CustomProblem* own = problem.custom()) return own->operation + size_slug(*own);
  const Attention& p = problem.as_attention();
  std::string text = fmt::format("{}-{}-{}-{}", p.batch, p.heads, p.seq_q, p.head_dim);
  if (p.value_dim) text += fmt::format("-v{}", *p.value_dim);
  if (p.kv_heads != p.heads) text += fmt::format("-kv{}", p.kv_heads);
  if (p.seq_kv != p.seq_q) text += fmt::format("-keys{}", p.seq_kv);
  text += fmt::format("-{}", name(p.dtype));
  if (p.out_dtype) text += fmt::format("-{}", name(*p.out_dtype));
  if (is_fused(p)) text += fmt::format("-{}", name(p.quant));
  if (p.mask != Mask::kNone) text += "-" + slug(p.mask);
  if (p.lse) text += "-lse";
  text += score_slug(p);
  return p.layouts.plain() ? text : text + "-" + slug(p.layouts);
}

}  // namespace fatune
