// fields_test.cpp: Tests that a list of fields writes, reads, compares and describes a record.
#include "core/fields.hpp"

#include <bit>
#include <cmath>
#include <limits>

#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>

using namespace fatune;

namespace {

enum class Colour { kRed, kBlue };
constexpr std::array kColours = {Colour::kRed, Colour::kBlue};
std::string_view name(Colour colour) { return colour == Colour::kRed ? "red" : "blue"; }
Result<Colour> parse_colour(std::string_view text) {
  for (const Colour each : kColours) {
    if (name(each) == text) return each;
  }
  return usage_error("colour '" + std::string(text) + "' is unknown");
}
FieldWord<Colour> word_of(const Colour*) { return {parse_colour, kColours}; }

struct Wheel {
  std::string side;
  int spokes = 8;
  std::optional<double> wear;
  bool flat = false;
};
void fields(Wheel& x, FieldList& f) {
  f.record("wheel", "One of a cart");
  f("spokes", x.spokes).range(1, 99).about("between hub and rim");
  f("wear", x.wear);
  f("flat", x.flat).omitted();
}

struct Motor {
  std::string fuel;
  std::int64_t watts = 0;
};
void fields(Motor& x, FieldList& f) {
  f.record("motor");
  f("fuel", x.fuel).required();
  f("watts", x.watts).at_least(0);
}

struct Cart {
  std::string id;
  Colour colour = Colour::kRed;
  std::uint64_t seed = 42;
  double load = 0;
  double price = 1;
  std::int64_t length = 1, width = 1;
  std::vector<Wheel> wheels;
  std::vector<std::string> notes;
  std::array<std::int64_t, 3> grid{1, 1, 1};
  double box[2] = {0, 1};
  std::map<Colour, std::uint64_t> counts;
  std::vector<Wheel> spare;
  Json extra = Json::object();
  std::optional<std::string> owner;
  std::string mode = "slow";
};
void fields(Cart& x, FieldList& f) {
  f.document("fatune.cart", {2, [](const Json& j) { return j.contains("tint"); }});
  f.closed();
  f("id", x.id).required().filled().matching("[a-z][a-z0-9]*", "an id").option("--id");
  f("colour", x.colour);
  f("seed", x.seed);
  f("load", x.load);
  f("price", x.price).finite().positive();
  f("length", x.length).required();
  f("width", x.width).same_as(&x.length);
  f("wheels", x.wheels).filled();
  f("notes", x.notes).omitted().incidental();
  f("grid", x.grid).range(1, 64);
  f("box", x.box).finite();
  f("counts", x.counts);
  f.keyed<&Wheel::side>("spare", x.spare).omitted();
  f("extra", x.extra).object().omitted();
  f("owner", x.owner).or_null();
  f("mode", x.mode).one_of("slow, fast");
  f.rule("width", [&x] { return x.width > x.length ? "is more than the length" : ""; });
}

struct Vehicle {
  std::string maker;
  std::int64_t seats = 1;
  std::optional<Motor> motor;
};
void fields(Vehicle& x, FieldList& f) {
  if (f.chooses("fuel", x.motor)) {
    fields(*x.motor, f);
    f.record("motor_vehicle");
  } else {
    f.record("plain_vehicle");
    f("seats", x.seats).required();
  }
  f("maker", x.maker);
}

struct Start {
  std::string id;
};
void fields(Start& x, FieldList& f) {
  f.record("start");
  f.tag("t", "start");
  f("id", x.id).required();
}
struct End {
  double seconds = 0;
};
void fields(End& x, FieldList& f) {
  f.record("end");
  f.tag("t", "end");
  f("seconds", x.seconds);
}
using Event = std::variant<Start, End>;

Cart sample() {
  Cart cart;
  cart.id = "c1";
  cart.seed = 18446744073709551615U;
  cart.load = std::numeric_limits<double>::infinity();
  cart.length = 3;
  cart.width = 2;
  cart.wheels = {{"", 8, 0.1, true}, {"", 6, std::nullopt, false}};
  cart.counts = {{Colour::kRed, 2}, {Colour::kBlue, 1}};
  cart.spare = {{"left", 5, std::nullopt, false}};
  return cart;
}

constexpr const char* kSample =
    R"({"schema":"fatune.cart/1","id":"c1","colour":"red","seed":18446744073709551615,)"
    R"("load":"inf","price":1.0,"length":3,"width":2,"wheels":[{"spokes":8,"wear":0.1,)"
    R"("flat":true},{"spokes":6}],"grid":[1,1,1],"box":[0.0,1.0],"counts":{"red":2,"blue":1},)"
    R"("spare":{"left":{"spokes":5}},"owner":null,"mode":"slow"})";

Json parse(std::string_view text) { return *parse_json(text, "x"); }

/// The error after `change` of the sample.
template <typename Change>
std::string fault(Change change) {
  Json json = parse(kSample);
  change(json);
  const auto cart = read_value<Cart>(json, "x.json");
  return cart ? "none" : cart.error().message;
}

}  // namespace

TEST_CASE("a record is written in the order of its list, and read back the same") {
  CHECK(dump(to_json(sample())) == kSample);
  const auto read = read_value<Cart>(parse(kSample), "x.json");
  REQUIRE(read);
  CHECK(dump(to_json(*read)) == kSample);
  CHECK(read->seed == 18446744073709551615U);
  CHECK(std::isinf(read->load));
  CHECK(read->wheels[0].wear == 0.1);
  CHECK_FALSE(read->wheels[1].wear);
  CHECK(read->counts.at(Colour::kBlue) == 1);
  CHECK(read->spare[0].side == "left");
  CHECK_FALSE(read->owner);
}

TEST_CASE("what is left out keeps the value of a new record, or that of another field") {
  const auto cart =
      read_value<Cart>(parse(R"({"schema":"fatune.cart/1","id":"a","length":7})"), "x");
  REQUIRE(cart);
  CHECK(cart->seed == 42);
  CHECK(cart->width == 7);
  CHECK(cart->grid == std::array<std::int64_t, 3>{1, 1, 1});
  CHECK(cart->mode == "slow");
}

TEST_CASE("errors of fields name their path") {
  const auto missing = [](Json& j) { j.erase("id"); };
  CHECK(fault(missing) == "x.json: field 'id' is missing");
  CHECK(fault([](Json& j) { j["id"] = 1; }) ==
        "x.json: field 'id' must be a string, but is number");
  CHECK(fault([](Json& j) { j["id"] = ""; }) == "x.json: field 'id' must not be empty");
  CHECK(fault([](Json& j) { j["id"] = "1a"; }) == "x.json: field 'id' is '1a', not an id");
  CHECK(fault([](Json& j) { j["colour"] = "pink"; }) ==
        "x.json: field 'colour' is wrong: colour 'pink' is unknown");
  CHECK(fault([](Json& j) { j["seed"] = -1; }) ==
        "x.json: field 'seed' must be a whole number of at least 0");
  CHECK(fault([](Json& j) { j["load"] = "big"; }) ==
        "x.json: field 'load' must be a number, \"inf\", \"-inf\" or \"nan\"");
  CHECK(fault([](Json& j) { j["price"] = "inf"; }) ==
        "x.json: field 'price' must be a number, but is string");
  CHECK(fault([](Json& j) { j["price"] = 0; }) ==
        "x.json: field 'price' must be more than 0, but is 0");
  CHECK(fault([](Json& j) { j["length"] = 2.5; }) ==
        "x.json: field 'length' must be a whole number, but is number");
  CHECK(fault([](Json& j) { j["length"] = 18446744073709551615U; }) ==
        "x.json: field 'length' is larger than 9223372036854775807");
  CHECK(fault([](Json& j) { j["wheels"] = 1; }) ==
        "x.json: field 'wheels' must be a list of objects, but is number");
  CHECK(fault([](Json& j) { j["wheels"] = Json::array(); }) ==
        "x.json: field 'wheels' must not be empty");
  CHECK(fault([](Json& j) { j["wheels"][1] = 1; }) ==
        "x.json: field 'wheels[1]' must be an object, but is number");
  CHECK(fault([](Json& j) { j["wheels"][1]["spokes"] = 100; }) ==
        "x.json: field 'wheels[1].spokes' is 100, but must be from 1 to 99");
  CHECK(fault([](Json& j) { j["wheels"][0]["spokes"] = 2147483648; }) ==
        "x.json: field 'wheels[0].spokes' is out of range");
  CHECK(fault([](Json& j) {
          j["notes"] = {"a", 1};
        }) == "x.json: field 'notes[1]' must be a string, but is number");
  CHECK(fault([](Json& j) {
          j["grid"] = {1, 2};
        }) == "x.json: field 'grid' must be three whole numbers");
  CHECK(fault([](Json& j) { j["grid"][2] = 0; }) ==
        "x.json: field 'grid[2]' is 0, but must be from 1 to 64");
  CHECK(fault([](Json& j) {
          j["box"] = {1, "inf"};
        }) == "x.json: field 'box[1]' must be a number, but is string");
  CHECK(fault([](Json& j) { j["counts"]["pink"] = 1; }) ==
        "x.json: field 'counts.pink' is wrong: colour 'pink' is unknown");
  CHECK(fault([](Json& j) { j["spare"]["left"]["flat"] = 1; }) ==
        "x.json: field 'spare.left.flat' must be true or false, but is number");
  CHECK(fault([](Json& j) { j["extra"] = 1; }) ==
        "x.json: field 'extra' must be an object, but is number");
  CHECK(fault([](Json& j) { j["mode"] = "idle"; }) ==
        "x.json: field 'mode' is 'idle', but must be one of slow, fast");
  CHECK(fault([](Json& j) { j["width"] = 4; }) == "x.json: field 'width' is more than the length");
  CHECK(read_value<Motor>(Json(1), "x.json").error().message ==
        "x.json: must be an object, but is number");
  CHECK(read_value<Motor>(Json::object(), "x: field 'a'").error().message ==
        "x: field 'a.fuel' is missing");
  CHECK(read_value<Motor>(Json::object(), "x").error().kind == ErrorKind::kFile);
}

TEST_CASE("any double comes back bit for bit") {
  const auto same = [](double value) {
    const auto end = read_value<End>(parse(dump(to_json(End{value}))), "x");
    return std::bit_cast<std::uint64_t>(end->seconds) == std::bit_cast<std::uint64_t>(value);
  };
  std::uint64_t bits = 0x9E3779B97F4A7C15;
  for (int i = 0; i < 20'000; ++i) {
    bits = bits * 6364136223846793005ULL + 1442695040888963407ULL;
    const auto value = std::bit_cast<double>(bits ^ (bits >> 29U));
    if (!std::isnan(value) && !same(value)) FAIL("changed: " << value);
  }
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  for (const double value : {0.0, -0.0, 1.0, 0.1, 12.8, 1e300, 5e-324, kInfinity, -kInfinity})
    CHECK(same(value));
  CHECK(std::isnan(read_value<End>(parse(R"({"t":"end","seconds":"nan"})"), "x")->seconds));
  CHECK(dump(to_json(End{std::numeric_limits<double>::quiet_NaN()})) ==
        R"({"t":"end","seconds":"nan"})");
  CHECK(dump(to_json(End{1.0 / 3})) == R"({"t":"end","seconds":0.3333333333333333})");
}

TEST_CASE("all faults of a record are told at once, with texts of strangers cut short") {
  const std::string faults = fault([](Json& j) {
    j["zzzzzzzz"] = 1;
    j.erase("id");
    j["mode"] = std::string(5000, 'm');
  });
  CHECK(faults.find("; field 'id' is missing; field 'mode' is 'mmm") != std::string::npos);
  CHECK(faults.size() < 600);
}

TEST_CASE("unknown fields are refused by name where the list is closed, else ignored") {
  CHECK(fault([](Json& j) { j["wheel"] = 1; }) ==
        "x.json: field 'wheel' is unknown; did you mean 'wheels'?");
  CHECK(fault([](Json& j) {
          j["zzzzzzzz"] = 1;
        }).starts_with("x.json: field 'zzzzzzzz' is unknown; known are schema, id, "));
  CHECK(fault([](Json& j) { j["wheels"][0]["zzz"] = 1; }) == "none");
}

TEST_CASE("documents of other versions are refused, former ones with the program that reads them") {
  const auto set = [](const char* schema) { return [schema](Json& j) { j["schema"] = schema; }; };
  CHECK(fault(set("fatune.cart/4")) ==
        "x.json: is a fatune.cart/4, written by a newer fatune; this one reads fatune.cart/1. "
        "Update fatune to read it");
  CHECK(fault(set("fatune.cart/x")) ==
        "x.json: field 'schema' is 'fatune.cart/x', not fatune.cart/1");
  CHECK(fault(set("fatune.cart/0")) ==
        "x.json: field 'schema' is 'fatune.cart/0', not fatune.cart/1");
  CHECK(fault(set("fatune.cart/2")) ==
        "x.json: is a fatune.cart/2 from before the first release; fatune at commit 2b9a2ab5 reads "
        "it");
  CHECK(fault([](Json& j) { j["tint"] = "red"; }) ==
        "x.json: is a fatune.cart/1 from before the first release; fatune at commit 2b9a2ab5 reads "
        "it");
  CHECK(fault(set("other/1")) == "x.json: field 'schema' is 'other/1', not fatune.cart/1");
  CHECK(fault([](Json& j) { j.erase("schema"); }) == "x.json: field 'schema' is missing");
}

TEST_CASE("a record may be one of two, told apart by a field") {
  const Vehicle plain{"m", 4, std::nullopt};
  const Vehicle motor{"m", 1, Motor{"gas", 7}};
  CHECK(dump(to_json(plain)) == R"({"seats":4,"maker":"m"})");
  CHECK(dump(to_json(motor)) == R"({"fuel":"gas","watts":7,"maker":"m"})");
  const auto read = read_value<Vehicle>(to_json(motor), "x");
  REQUIRE(read);
  CHECK(read->motor->watts == 7);
  CHECK_FALSE(read_value<Vehicle>(to_json(plain), "x")->motor);
  const Json schema = schema_of<Vehicle>("vehicle.1");
  CHECK(schema["anyOf"].size() == 2);
  CHECK(schema["$defs"]["motor_vehicle"]["required"] == Json({"fuel", "watts", "maker"}));
}

TEST_CASE("the records of a variant are told apart by their tag") {
  CHECK(dump(to_json(Event(End{2}))) == R"({"t":"end","seconds":2.0})");
  const auto event = read_value<Event>(parse(R"({"t":"start","id":"a"})"), "x");
  REQUIRE(event);
  CHECK(std::get<Start>(*event).id == "a");
  const auto error = [](const char* text) {
    return read_value<Event>(parse(text), "x").error().message;
  };
  CHECK(error("{}") == "x: field 't' is missing");
  CHECK(error(R"({"t":"stop"})") ==
        "x: field 't' is 'stop', a kind of record this version does not know");
  CHECK(error(R"({"t":"start"})") == "x: field 'id' is missing");
  CHECK(schema_of<Event>("event.1")["anyOf"][1]["$ref"] == "#/$defs/end");
}

TEST_CASE("the first difference names field, option and both values") {
  Cart now = sample();
  CHECK_FALSE(difference(sample(), now));
  now.notes = {"new"};
  CHECK_FALSE(difference(sample(), now));
  now.mode = "fast";
  now.id = "c2";
  const auto found = difference(sample(), now);
  REQUIRE(found);
  CHECK(found->key == "id");
  CHECK(found->option == "--id");
  CHECK(found->before == "c1");
  CHECK(found->now == "c2");
}

TEST_CASE("a schema says types, ranges, words and what is always there") {
  const Json schema = schema_of<Cart>("cart.1", "A thing with wheels");
  CHECK(schema["$id"] == "cart.1.json");
  CHECK(schema["title"] == "fatune.cart/1");
  CHECK(schema["description"] == "A thing with wheels");
  CHECK(schema["additionalProperties"] == false);
  CHECK(schema["required"] == Json({"schema", "id", "colour", "seed", "load", "price", "length",
                                    "width", "wheels", "grid", "box", "counts", "owner", "mode"}));
  const Json& of = schema["properties"];
  CHECK(of["schema"] == Json{{"type", "string"}, {"const", "fatune.cart/1"}});
  CHECK(of["id"] == Json{{"type", "string"}, {"pattern", "^[a-z][a-z0-9]*$"}});
  CHECK(of["colour"] == Json{{"type", "string"}, {"enum", {"red", "blue"}}});
  CHECK(of["seed"] == Json{{"type", "integer"}, {"minimum", 0}});
  CHECK(of["load"] == Json{{"$ref", "#/$defs/number"}});
  CHECK(of["price"] == Json{{"type", "number"}, {"exclusiveMinimum", 0}});
  CHECK(of["wheels"] ==
        Json{{"type", "array"}, {"items", {{"$ref", "#/$defs/wheel"}}}, {"minItems", 1}});
  CHECK(of["grid"]["maxItems"] == 3);
  CHECK(of["grid"]["items"] == Json{{"type", "integer"}, {"minimum", 1}, {"maximum", 64}});
  CHECK(of["owner"] == Json{{"anyOf", {{{"type", "null"}}, {{"type", "string"}}}}});
  CHECK(of["mode"] == Json{{"type", "string"}, {"enum", {"slow", "fast"}}});
  const Json& wheel = schema["$defs"]["wheel"];
  CHECK(wheel["description"] == "One of a cart");
  CHECK(wheel["required"] == Json({"spokes"}));
  CHECK(wheel["properties"]["spokes"]["description"] == "between hub and rim");
  CHECK(wheel["properties"]["flat"] == Json{{"type", "boolean"}, {"const", true}});
}
