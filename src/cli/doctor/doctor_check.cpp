// doctor_check.cpp - one word a finding: ok, note, noisy or missing.
#include "cli/doctor/doctor_check.hpp"

#include <algorithm>

#include "core/fields.hpp"

namespace fatune::cli {
namespace {

constexpr std::size_t kWordWidth = 9;
constexpr const char* kIndent = "  ";

std::string_view word(Health health) {
  switch (health) {
    case Health::kGood:
      return "ok";
    case Health::kNote:
      return "note";
    case Health::kNoisy:
      return "noisy";
    case Health::kBad:
      return "missing";
  }
  return "";
}

Tone tone(Health health) {
  switch (health) {
    case Health::kGood:
      return Tone::kGood;
    case Health::kNote:
      return Tone::kFaint;
    case Health::kNoisy:
      return Tone::kWarn;
    case Health::kBad:
      return Tone::kBad;
  }
  return Tone::kFaint;
}

bool none_is(const Checks& checks, Health health) {
  return std::none_of(checks.begin(), checks.end(),
                      [&](const Check& check) { return check.health == health; });
}

std::string check_text(const Check& check, const Paint& paint) {
  const std::string label(word(check.health));
  std::string text = kIndent + paint(tone(check.health), label) +
                     std::string(kWordWidth - label.size(), ' ') + check.what + ": " + check.found +
                     "\n";
  if (!check.remedy.empty())
    text += kIndent + std::string(kWordWidth, ' ') + "-> " + check.remedy + "\n";
  return text;
}

std::string conclusion(const Checks& checks, const Paint& paint) {
  std::string text = is_able(checks)
                         ? paint(Tone::kStrong, "able to tune on a GPU") + "\n"
                         : paint(Tone::kStrong, "not able to tune on a GPU here") +
                               "; `fatune sweep --device recorded` replays a recording\n";
  if (is_quiet(checks)) return text;
  return text + paint(Tone::kWarn, "NOISY") +
         ": small differences will drown; the lines above say what to do\n";
}

}  // namespace

bool is_able(const Checks& checks) { return none_is(checks, Health::kBad); }
bool is_quiet(const Checks& checks) { return none_is(checks, Health::kNoisy); }

std::string checks_text(const Checks& checks, const Paint& paint) {
  std::string text, group;
  for (const Check& check : checks) {
    if (check.group != group) {
      group = check.group;
      text += paint(Tone::kStrong, group) + "\n";
    }
    text += check_text(check, paint);
  }
  return text + conclusion(checks, paint);
}

void fields(Check& x, FieldList& f) {
  f("group", x.group);
  f("what", x.what);
  f.derived("health", std::string(word(x.health))).one_of("ok, note, noisy, missing");
  f("found", x.found);
  f("remedy", x.remedy).omitted();
}

void fields(DoctorDocument& x, FieldList& f) {
  f.document("fatune.doctor", 2);
  document::head_fields(x.head, f);
  f.derived("able", is_able(x.checks)).about("To tune on a GPU");
  f.derived("quiet", is_quiet(x.checks)).about("Small differences are seen");
  f("checks", x.checks);
}

}  // namespace fatune::cli
