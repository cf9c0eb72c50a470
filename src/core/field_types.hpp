// field_types.hpp: Declares how each C++ type of a field is written and read; part of fields.hpp.
#pragma once

#include "core/fields.hpp"

namespace fatune {

// Containers for field_types.cpp: each is a table of functions on addresses.

struct OptionalOps {
  const void* (*get)(const void*);  ///< null: empty
  void* (*emplace)(void*);
  void (*reset)(void*);
};
struct ListOps {
  std::size_t (*size)(const void*);
  const void* (*at)(const void*, std::size_t);
  void (*resize)(void*, std::size_t);  ///< null: the size is fixed
};
struct MapOps {
  std::size_t (*size)(const void*);
  std::pair<std::string, const void*> (*at)(const void*, std::size_t);
  Result<void*> (*add)(void*, std::string_view key);
  void (*clear)(void*);
};
struct WordOps {
  std::string (*name)(const void*);
  Status (*parse)(void*, std::string_view);
  std::vector<std::string> (*all)();
  const char* pattern;
};
struct RecordOps {
  void (*list)(void*, FieldList&);
  std::shared_ptr<void> (*make)();
};
struct VariantOps {
  std::size_t (*index)(const void*);
  const void* (*get)(const void*);
  void* (*emplace)(void*, std::size_t);
  std::vector<RecordOps> types;
};

const FieldType& text_type();
const FieldType& path_type();
const FieldType& bool_type();
const FieldType& double_type();
const FieldType& json_type();
const FieldType& integer_type(std::size_t bytes, bool is_signed);
/// These are made once for each type and live as long as the program.
const FieldType& make_optional_type(const FieldType& item, OptionalOps ops);
const FieldType& make_list_type(const FieldType& item, ListOps ops);
const FieldType& make_map_type(const FieldType& item, MapOps ops);
const FieldType& make_word_type(WordOps ops);
const FieldType& make_record_type(RecordOps ops);
const FieldType& make_variant_type(VariantOps ops);

namespace field {

template <typename T>
T& as(void* value) {
  return *static_cast<T*>(value);
}
template <typename T>
const T& as(const void* value) {
  return *static_cast<const T*>(value);
}

template <typename T>
RecordOps record_ops() {
  return {[](void* x, FieldList& f) { fields(as<T>(x), f); },
          []() -> std::shared_ptr<void> { return std::make_shared<T>(); }};
}

/// Makes the FieldType of a container, by its kind. The primary template serves all other types.
template <typename T>
struct Make {
  static const FieldType& type() {
    if constexpr (IsWord<T>) {
      return make_word_type({[](const void* x) { return std::string(name(as<T>(x))); },
                             [](void* x, std::string_view text) -> Status {
                               FATUNE_TRY(as<T>(x),
                                          word_of(static_cast<const T*>(nullptr)).parse(text));
                               return {};
                             },
                             [] {
                               std::vector<std::string> all;
                               for (const T& each : word_of(static_cast<const T*>(nullptr)).all)
                                 all.emplace_back(name(each));
                               return all;
                             },
                             word_of(static_cast<const T*>(nullptr)).pattern});
    } else {
      static_assert(ListsFields<T>, "declare `void fields(T&, FieldList&)` beside the type");
      return make_record_type(record_ops<T>());
    }
  }
};

template <typename T>
struct Make<std::optional<T>> {
  using X = std::optional<T>;
  static const FieldType& type() { return of(field_type<T>()); }
  static const FieldType& of(const FieldType& item) {
    return make_optional_type(
        item,
        {[](const void* x) -> const void* { return as<X>(x) ? &*as<X>(x) : nullptr; },
         [](void* x) -> void* { return &as<X>(x).emplace(); }, [](void* x) { as<X>(x).reset(); }});
  }
};

template <typename T>
struct Make<std::vector<T>> {
  using X = std::vector<T>;
  static const FieldType& type() { return of(field_type<T>()); }
  static const FieldType& of(const FieldType& item) {
    return make_list_type(item,
                          {[](const void* x) { return as<X>(x).size(); },
                           [](const void* x, std::size_t i) -> const void* { return &as<X>(x)[i]; },
                           [](void* x, std::size_t size) { as<X>(x).resize(size); }});
  }
};

template <typename T, std::size_t kSize>
struct Make<std::array<T, kSize>> {
  static const FieldType& type() { return Make<T[kSize]>::type(); }
};
template <typename T, std::size_t kSize>
struct Make<T[kSize]> {
  static const FieldType& type() {
    return make_list_type(field_type<T>(), {[](const void*) { return kSize; },
                                            [](const void* x, std::size_t i) -> const void* {
                                              return static_cast<const T*>(x) + i;
                                            },
                                            nullptr});
  }
};

template <typename Key>
Result<Key> key_from(std::string_view text) {
  if constexpr (IsWord<Key>) {
    return word_of(static_cast<const Key*>(nullptr)).parse(text);
  } else {
    return Key(text);
  }
}
template <typename Key>
std::string key_text(const Key& key) {
  if constexpr (IsWord<Key>) {
    return std::string(name(key));
  } else {
    return key;
  }
}

template <typename Key, typename T>
struct Make<std::map<Key, T>> {
  using X = std::map<Key, T>;
  static const FieldType& type() {
    return make_map_type(field_type<T>(),
                         {[](const void* x) { return as<X>(x).size(); },
                          [](const void* x, std::size_t i) -> std::pair<std::string, const void*> {
                            const auto& at = *std::next(as<X>(x).begin(), std::ptrdiff_t(i));
                            return {key_text(at.first), &at.second};
                          },
                          [](void* x, std::string_view text) -> Result<void*> {
                            FATUNE_TRY(Key key, key_from<Key>(text));
                            return static_cast<void*>(&as<X>(x)[std::move(key)]);
                          },
                          [](void* x) { as<X>(x).clear(); }});
  }
};

template <typename... Ts>
struct Make<std::variant<Ts...>> {
  using X = std::variant<Ts...>;
  static const FieldType& type() {
    return make_variant_type(
        {[](const void* x) { return as<X>(x).index(); },
         [](const void* x) {
           return std::visit([](const auto& each) -> const void* { return &each; }, as<X>(x));
         },
         [](void* x, std::size_t index) {
           using Emplace = void* (*)(X&);
           constexpr Emplace kEmplace[] = {
               [](X& into) -> void* { return &into.template emplace<Ts>(); }...};
           return kEmplace[index](as<X>(x));
         },
         {record_ops<Ts>()...}});
  }
};

}  // namespace field

template <typename T>
const FieldType& field_type() {
  if constexpr (std::is_same_v<T, std::string>) {
    return text_type();
  } else if constexpr (std::is_same_v<T, std::filesystem::path>) {
    return path_type();
  } else if constexpr (std::is_same_v<T, bool>) {
    return bool_type();
  } else if constexpr (std::is_integral_v<T>) {
    return integer_type(sizeof(T), std::is_signed_v<T>);
  } else if constexpr (std::is_same_v<T, double>) {
    return double_type();
  } else if constexpr (std::is_same_v<T, Json>) {
    return json_type();
  } else {
    static const FieldType& type = field::Make<T>::type();
    return type;
  }
}

template <auto kList, typename T>
const FieldType& listed_type() {
  if constexpr (requires { field::Make<T>::of(text_type()); }) {
    static const FieldType& type = field::Make<T>::of(listed_type<kList, typename T::value_type>());
    return type;
  } else {
    static const FieldType& type =
        make_record_type({[](void* x, FieldList& f) { kList(field::as<T>(x), f); },
                          []() -> std::shared_ptr<void> { return std::make_shared<T>(); }});
    return type;
  }
}

template <auto kKey, auto kValue, typename T>
const FieldType& keyed_type(const std::vector<std::vector<T>>*) {
  static const FieldType& type = field::Make<std::vector<std::vector<T>>>::of(
      keyed_type<kKey, kValue>(static_cast<const std::vector<T>*>(nullptr)));
  return type;
}

template <auto kKey, auto kValue, typename T>
const FieldType& keyed_type(const std::vector<T>*) {
  using X = std::vector<T>;
  constexpr bool kWhole = std::is_null_pointer_v<decltype(kValue)>;
  const auto ops = MapOps{[](const void* x) { return field::as<X>(x).size(); },
                          [](const void* x, std::size_t i) -> std::pair<std::string, const void*> {
                            const T& each = field::as<X>(x)[i];
                            if constexpr (kWhole) {
                              return {each.*kKey, &each};
                            } else {
                              return {each.*kKey, &(each.*kValue)};
                            }
                          },
                          [](void* x, std::string_view key) -> Result<void*> {
                            T& each = field::as<X>(x).emplace_back();
                            each.*kKey = key;
                            if constexpr (kWhole) {
                              return static_cast<void*>(&each);
                            } else {
                              return static_cast<void*>(&(each.*kValue));
                            }
                          },
                          [](void* x) { field::as<X>(x).clear(); }};
  if constexpr (kWhole) {
    static const FieldType& type = make_map_type(field_type<T>(), ops);
    return type;
  } else {
    using Part = std::remove_cvref_t<decltype(std::declval<T&>().*kValue)>;
    static const FieldType& type = make_map_type(field_type<Part>(), ops);
    return type;
  }
}

}  // namespace fatune
