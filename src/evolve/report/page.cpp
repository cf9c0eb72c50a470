// page.cpp: Writes figures, curves, lineage and diffs as HTML without scripts.
#include "evolve/report/page.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "core/embedded.hpp"
#include "core/result.hpp"
#include "core/svg.hpp"
#include "core/text.hpp"
#include "core/units.hpp"
#include "evolve/report/diff.hpp"

namespace fatune {
namespace {

std::string escaped(const std::string& text) { return svg::escape(text); }

std::string_view style_sheet() {
  for (const EmbeddedFile& file : embedded_page_files()) {
    if (file.path == "src/evolve/report/page.css") return file.text;
  }
  FATUNE_CHECK(false, "the build embeds the page's style");
}

std::string factor_of(const std::optional<double>& ratio) {
  return ratio ? fmt::format("{:.2f}×", *ratio) : "–";
}

std::string fact(const std::string& term, const std::string& value) {
  return fmt::format("<div><dt>{}</dt><dd>{}</dd></div>\n", escaped(term), escaped(value));
}

std::string facts(const EvolutionFigures& figures) {
  std::string text = "<dl class=\"facts\">\n";
  text += fact("speed-up over the start", factor_of(figures.speedup));
  text += fact("in the same rounds", factor_of(figures.final_speedup));
  if (figures.valid)
    text += fact("validity", fmt::format("{} of {} ({})", *figures.valid, figures.trials,
                                         percent(*figures.validity())));
  text += fact("compiled", percent(figures.compile_rate()));
  text += fact("configs tried", fmt::to_string(figures.evaluations));
  if (figures.usage.tokens() > 0) {
    text += fact("tokens", fmt::format("{} in, {} out", figures.usage.prompt_tokens,
                                       figures.usage.completion_tokens));
  }
  if (figures.usage.cost > 0) text += fact("cost", fmt::format("{:.4g}", figures.usage.cost));
  return text + "</dl>\n";
}

/// One value per trial; the curve has no point for a missing value.
struct Curve {
  std::string title, unit;
  std::vector<std::optional<double>> values;
  bool logarithmic = false;
  const std::vector<Trial>* dots = nullptr;   ///< trials drawn as dots at their own speed-up
  std::optional<double> most = std::nullopt;  ///< upper end of an axis that starts at zero
};

class Plot {
 public:
  explicit Plot(const Curve& curve) : curve_(curve) {
    for (const auto& value : curve.values) note(value);
    if (curve.dots != nullptr) {
      for (const Trial& trial : *curve.dots) note(trial.speedup);
    }
    if (curve.most) {
      note(0.0);
      note(curve.most);
    }
    if (high_ <= low_) high_ = low_ + 1;
  }

  std::string svg() const {
    std::string text = fmt::format(
        "<figure><figcaption>{}</figcaption>\n<svg viewBox=\"0 0 {} {}\" role=\"img\" "
        "aria-label=\"{}\">\n",
        escaped(curve_.title), kWidth, kHeight, escaped(curve_.title));
    for (int i = 0; i <= 4; ++i) text += level(i / 4.0);
    text += fmt::format(
        "<text x=\"{}\" y=\"{}\">t0</text><text x=\"{}\" y=\"{}\" "
        "text-anchor=\"end\">t{}</text>\n",
        kLeft, kHeight - 4, kWidth - 4, kHeight - 4, curve_.values.size() - 1);
    text += fmt::format("<path class=\"curve\" d=\"{}\"/>\n", path());
    return text + dots() + "</svg></figure>\n";
  }

 private:
  static constexpr double kWidth = 480, kHeight = 220, kLeft = 52, kTop = 10, kBottom = 22;

  double scaled(double value) const { return curve_.logarithmic ? std::log(value) : value; }
  double unscaled(double value) const { return curve_.logarithmic ? std::exp(value) : value; }
  void note(const std::optional<double>& value) {
    if (!value || (curve_.logarithmic && *value <= 0)) return;
    if (!any_) low_ = high_ = scaled(*value);
    any_ = true;
    low_ = std::min(low_, scaled(*value));
    high_ = std::max(high_, scaled(*value));
  }
  double x(std::size_t trial) const {
    const auto last = std::max<std::size_t>(1, curve_.values.size() - 1);
    return kLeft + (kWidth - kLeft - 8) * static_cast<double>(trial) / static_cast<double>(last);
  }
  double y(double value) const {
    return kTop + (kHeight - kTop - kBottom) * (high_ - scaled(value)) / (high_ - low_);
  }
  std::string level(double share) const {
    const double value = unscaled(low_ + share * (high_ - low_));
    return fmt::format(
        "<line class=\"axis\" x1=\"{0}\" x2=\"{1}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\"/><text x=\"{3}\" "
        "y=\"{4:.1f}\" text-anchor=\"end\">{5:.3g}{6}</text>\n",
        kLeft, kWidth - 4, y(value), kLeft - 6, y(value) + 4, value, curve_.unit);
  }
  /// Draws steps: a value holds until the next trial.
  std::string path() const {
    std::string text;
    for (std::size_t i = 0; i < curve_.values.size(); ++i) {
      if (!curve_.values[i]) continue;
      const double height = y(*curve_.values[i]);
      text += text.empty() ? fmt::format("M{:.1f} {:.1f}", x(i), height)
                           : fmt::format("H{:.1f}V{:.1f}", x(i), height);
    }
    return text;
  }
  std::string dots() const {
    std::string text;
    if (curve_.dots == nullptr) return text;
    for (const Trial& trial : *curve_.dots) {
      const double height = trial.speedup ? y(*trial.speedup) : kHeight - kBottom;
      text += fmt::format(
          "<circle class=\"dot {}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\"><title>{} {} "
          "{}</title></circle>\n",
          trial.verdict, x(static_cast<std::size_t>(trial.number)), height, trial.id(),
          trial.verdict, factor_of(trial.speedup));
    }
    return text;
  }

  const Curve& curve_;
  double low_ = 0, high_ = 0;
  bool any_ = false;
};

std::string curves(const std::vector<Trial>& trials, bool gated) {
  if (trials.empty()) return "";
  Curve best{"best so far, and each trial", "×", {}, true, &trials};
  Curve validity{"trials that passed every gate", " %", {}};
  validity.most = 100;
  Curve tokens{"tokens", "", {}};
  Curve cost{"cost", "", {}};
  double valid = 0, spent_tokens = 0, spent = 0;
  for (const Trial& trial : trials) {
    best.values.push_back(trial.best);
    spent_tokens += static_cast<double>(trial.usage.tokens());
    spent += trial.usage.cost;
    tokens.values.emplace_back(spent_tokens);
    cost.values.emplace_back(spent);
    valid += trial.number > 0 && trial.valid() ? 1 : 0;
    validity.values.push_back(trial.number > 0
                                  ? std::optional(100 * valid / static_cast<double>(trial.number))
                                  : std::nullopt);
  }
  std::string text = "<div class=\"curves\">\n" + Plot(best).svg();
  if (gated) text += Plot(validity).svg();
  if (spent_tokens > 0) text += Plot(tokens).svg();
  if (spent > 0) text += Plot(cost).svg();
  return text + "</div>\n";
}

std::string diff_html(const std::string& before, const std::string& after) {
  const auto lines = line_diff(before, after);
  if (lines.empty()) return "";
  std::string text = "<pre>";
  for (const DiffLine& line : lines) {
    switch (line.kind) {
      case DiffLine::Kind::kSame:
        text += "<span>  " + escaped(line.text) + "</span>";
        break;
      case DiffLine::Kind::kAdded:
        text += "<span class=\"a\">+ " + escaped(line.text) + "</span>";
        break;
      case DiffLine::Kind::kRemoved:
        text += "<span class=\"r\">- " + escaped(line.text) + "</span>";
        break;
      case DiffLine::Kind::kGap:
        text += "<span class=\"g\">⋯</span>";
        break;
    }
  }
  return text + "</pre>\n";
}

std::string shapes_html(const Trial& trial) {
  if (trial.shapes.empty()) return "";
  std::string text =
      "<div class=\"scroll\"><table><tr><th>problem</th><th class=\"number\">time</th>"
      "<th>outcome</th><th>config</th></tr>\n";
  for (const ShapeTrial& shape : trial.shapes) {
    text +=
        fmt::format("<tr><td>{}</td><td class=\"number\">{}</td><td>{}</td><td>{}</td></tr>\n",
                    escaped(shape.problem), shape.time_us ? describe(Micros(*shape.time_us)) : "–",
                    name(shape.outcome), escaped(describe_config(shape.config)));
  }
  return text + "</table></div>\n";
}

/// Draws each trial below its first parent.
class Tree {
 public:
  explicit Tree(const std::vector<Trial>& trials) : trials_(trials) {
    for (const Trial& trial : trials) {
      by_id_[trial.id()] = &trial;
      if (trial.number > 0)
        children_[trial.parents.empty() ? trials.front().id() : trial.parents.front()].push_back(
            &trial);
    }
  }

  std::string html() const {
    return trials_.empty() ? ""
                           : "<div class=\"tree\"><ul>" + node(trials_.front()) + "</ul></div>\n";
  }

 private:
  std::string summary(const Trial& trial) const {
    std::string text = fmt::format("<b>{}</b> <span class=\"chip {}\">{}</span> {} {}", trial.id(),
                                   trial.verdict, trial.number == 0 ? "start" : trial.verdict,
                                   factor_of(trial.speedup), escaped(trial.lever));
    if (!trial.parents.empty())
      text += " <span class=\"soft\">of " + escaped(join(trial.parents, " and ")) + "</span>";
    return text;
  }

  std::string inside(const Trial& trial) const {
    std::string text = "<div class=\"inside\">\n";
    if (!trial.thought.empty()) text += "<p>" + escaped(trial.thought) + "</p>\n";
    if (!trial.insight.empty()) text += "<p class=\"soft\">" + escaped(trial.insight) + "</p>\n";
    if (!trial.reason.empty()) text += "<p class=\"reason\">" + escaped(trial.reason) + "</p>\n";
    text += shapes_html(trial);
    const auto parent = trial.parents.empty() ? by_id_.end() : by_id_.find(trial.parents.front());
    if (parent != by_id_.end() && !trial.source.empty()) {
      text += diff_html(parent->second->source, trial.source);
      text += diff_html(parent->second->manifest, trial.manifest);
    }
    return text + "</div>\n";
  }

  std::vector<const Trial*> children(const Trial& trial) const {
    const auto found = children_.find(trial.id());
    return found == children_.end() ? std::vector<const Trial*>() : found->second;
  }

  /// Returns the only child that has children, if there is exactly one. The tree continues with
  /// that child at the same depth, so that a long lineage fits a phone.
  const Trial* continuing_child(const Trial& trial) const {
    const Trial* found = nullptr;
    for (const Trial* child : children(trial)) {
      if (children(*child).empty()) continue;
      if (found != nullptr) return nullptr;
      found = child;
    }
    return found;
  }

  std::string node(const Trial& trial) const {
    std::string text;
    for (const Trial* each = &trial; each != nullptr; each = continuing_child(*each)) {
      text += fmt::format("<li id=\"{}\"><details><summary>{}</summary>\n{}</details>\n",
                          each->id(), summary(*each), inside(*each));
      std::string below;
      for (const Trial* child : children(*each)) {
        if (child != continuing_child(*each)) below += node(*child);
      }
      if (!below.empty()) text += "<ul>" + below + "</ul>";
      text += "</li>\n";
    }
    return text;
  }

  const std::vector<Trial>& trials_;
  std::map<std::string, const Trial*> by_id_;
  std::map<std::string, std::vector<const Trial*>> children_;
};

std::string duels_html(const std::vector<DuelRecord>& duels) {
  if (duels.empty()) return "";
  std::string text =
      "<h2>The best against the start</h2>\n<p class=\"soft\">In the same rounds, in random order, "
      "behind every gate.</p>\n<div class=\"scroll\"><table><tr><th>problem</th><th "
      "class=\"number\">start</th><th class=\"number\">best</th><th "
      "class=\"number\">speed-up</th><th>95 % interval</th></tr>\n";
  for (const auto& [id, duel] : duels) {
    const auto us = [](const std::optional<double>& value) {
      return value ? describe(Micros(*value)) : std::string("–");
    };
    text += fmt::format(
        "<tr><td>{}</td><td class=\"number\">{}</td><td class=\"number\">{}</td><td "
        "class=\"number\">{}</td><td>{}</td></tr>\n",
        escaped(duel.problem), us(duel.start_us), us(duel.best_us),
        factor_of(duel.speedup ? std::optional(duel.speedup->value) : std::nullopt),
        duel.speedup ? fmt::format("{:.2f} to {:.2f}", duel.speedup->low, duel.speedup->high)
                     : escaped(duel.reason));
  }
  return text + "</table></div>\n";
}

}  // namespace

std::string evolution_page(const EvolutionDocument& document) {
  const EvolutionPlan& plan = document.run.plan;
  std::vector<std::string> problems;
  for (const NamedProblem& problem : plan.problems) problems.push_back(label(problem));
  const std::string title = fmt::format("{}, evolved", plan.kernel);
  std::string text = fmt::format(
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
      "content=\"width=device-width, initial-scale=1\"><title>{}</title>\n<style>\n{}</style>"
      "</head>\n<body><main>\n<p class=\"soft\">fatune evolve, mode {}{}</p>\n<h1>{}: {}</h1>\n",
      escaped(title), style_sheet(), name(plan.mode),
      document.run.environment.device_name.empty()
          ? ""
          : ", " + escaped(document.run.environment.device_name),
      escaped(title), factor_of(document.figures.speedup));
  text += "<p class=\"soft\">" + escaped(join(problems, "; ")) + "</p>\n";
  if (document.run.recorded)
    text += "<p class=\"notice\">Recorded: every number was measured earlier.</p>\n";
  if (!document.complete) text += "<p class=\"notice\">The run is not complete.</p>\n";
  const bool gated = document.figures.valid.has_value();
  if (!gated)
    text +=
        "<p class=\"notice\">No gate ran, as there was no GPU: kernels were compiled only.</p>\n";
  text += facts(document.figures) + "<h2>Curves</h2>\n" + curves(document.trials, gated);
  text += duels_html(document.duels);
  text +=
      "<h2>Lineage</h2>\n<p class=\"soft\">Each trial below what it was made of; open one for "
      "its diff. Thoughts are those of the proposer.</p>\n";
  return text + Tree(document.trials).html() + "</main></body></html>\n";
}

}  // namespace fatune
