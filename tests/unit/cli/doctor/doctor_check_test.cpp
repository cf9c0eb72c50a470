// doctor_check_test.cpp: Checks the text, colours and JSON of findings, and the release in a
// cuda.h.
#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>

#include "cli/doctor/doctor.hpp"
#include "core/fields.hpp"
#include "core/text.hpp"

namespace fatune::cli {
namespace {

Checks sample() {
  return {{Health::kGood, "Compiler", "NVRTC", "13.0.88", ""},
          {Health::kNote, "Tools", "ncu", "not found", "apt-get install ncu"},
          {Health::kNoisy, "Tools", "fan", "loud", "stop it"}};
}

TEST_CASE("findings are grouped, remedies below them, the conclusion first") {
  CHECK(checks_text(sample(), {}) ==
        "able to tune on a GPU\n"
        "NOISY: noise hides small differences; follow the remedies below\n"
        "Compiler\n"
        "  ok       NVRTC: 13.0.88\n"
        "Tools\n"
        "  note     ncu: not found\n"
        "           -> apt-get install ncu\n"
        "  noisy    fan: loud\n"
        "           -> stop it\n");
}

TEST_CASE("a remedy in words is fitted to the width, a command stays on its line") {
  const std::string words = "end other work: compilation slows down, and launches come late";
  const std::string command = "pip install a-package-of-this-name and-another-of-that-name";
  const std::string text = checks_text({{Health::kNoisy, "Machine", "processor", "busy", words},
                                        {Health::kNote, "Tools", "tool", "missing", command}},
                                       Paint(Colour::kNone, 40));
  CHECK(text.find(command + "\n") != std::string::npos);
  CHECK(text.find(words) == std::string::npos);
  for (const std::string& line : split(text, '\n'))
    CHECK((line.size() <= 40 || line.find(command) != std::string::npos));
}

TEST_CASE("something missing is the conclusion, and the way out is named") {
  const std::string text = checks_text({{Health::kBad, "GPU", "driver", "none", "install"}}, {});
  CHECK(text.find("  missing  driver: none\n") != std::string::npos);
  CHECK(text.find("not able to tune on a GPU here; `fatune sweep --device recorded`") !=
        std::string::npos);
}

TEST_CASE("colours change no column") {
  const std::string text = printable(checks_text(sample(), Paint(Colour::kAnsi)));
  CHECK(text.find("  \x1b[32mok\x1b[0m       NVRTC: 13.0.88\n") != std::string::npos);
  CHECK(text.find("  \x1b[33mnoisy\x1b[0m    fan: loud\n") != std::string::npos);
}

TEST_CASE("the JSON has every finding and both answers") {
  const Json json = to_json(DoctorDocument{{"1.0", "fatune doctor", false}, sample()});
  CHECK(json.at("schema") == "fatune.doctor/1");
  CHECK(json.at("able") == true);
  CHECK(json.at("quiet") == false);
  CHECK(json.at("checks").size() == 3);
  CHECK(json.at("checks").at(1).at("group") == "Tools");
}

TEST_CASE("cuda.h tells the release of its headers") {
  CHECK(cuda_release("/**\n#define CUDA_VERSION 13000\n") == "13.0");
  CHECK(cuda_release("#define CUDA_VERSION 12090") == "12.9");
  CHECK(cuda_release("#define CUDA_VERSION many\n").empty());
  CHECK(cuda_release("").empty());
}

}  // namespace
}  // namespace fatune::cli
