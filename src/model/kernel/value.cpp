// value.cpp - a parameter's value to text and JSON.
#include "model/kernel/value.hpp"

#include <nlohmann/json.hpp>

namespace fatune {

std::string describe(const Value& value) {
  switch (value.kind) {
    case Value::Kind::kWord:
      return value.word;
    case Value::Kind::kBoolean:
      return value.number != 0 ? "true" : "false";
    case Value::Kind::kNumber:
      break;
  }
  return std::to_string(value.number);
}

Json to_json(const Value& value) {
  switch (value.kind) {
    case Value::Kind::kWord:
      return value.word;
    case Value::Kind::kBoolean:
      return value.number != 0;
    case Value::Kind::kNumber:
      break;
  }
  return value.number;
}

}  // namespace fatune
