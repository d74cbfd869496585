// Template part of fields.hpp: binds members of a struct to fields. Include core/fields.hpp, not this file.
#pragma once

#include <memory>
#include <type_traits>
#include <utility>

namespace strobe {

template <class S>
class FieldTableBuilder {
 public:
  FieldTableBuilder() {
    table_.make_default = [] { return std::static_pointer_cast<void>(std::make_shared<S>()); };
  }

  template <class M>
  FieldTableBuilder& integer(const char* name, M S::*member, const char* unit, const char* help,
                             double minimum = std::numeric_limits<std::int64_t>::min(),
                             double maximum = 9007199254740992.0) {
    static_assert(std::is_integral_v<M>);
    return bind(FieldType::integer, name, member, unit, help, minimum, maximum, {});
  }

  FieldTableBuilder& real(const char* name, double S::*member, const char* unit, const char* help,
                          double minimum = -std::numeric_limits<double>::infinity(),
                          double maximum = std::numeric_limits<double>::infinity()) {
    return bind(FieldType::real, name, member, unit, help, minimum, maximum, {});
  }

  FieldTableBuilder& text(const char* name, std::string S::*member, const char* help) {
    return bind(FieldType::text, name, member, "", help, 0, 0, {});
  }

  FieldTableBuilder& boolean(const char* name, bool S::*member, const char* help) {
    return bind(FieldType::boolean, name, member, "", help, 0, 0, {});
  }

  /// A text member that may hold only one of `choices`.
  FieldTableBuilder& choice(const char* name, std::string S::*member, std::vector<std::string> choices,
                            const char* help) {
    return bind(FieldType::choice, name, member, "", help, 0, 0, std::move(choices));
  }

  /// Values that a search tries for the field that was added last (Field::searched).
  FieldTableBuilder& searched(std::vector<std::string> (*values)(bool sizes_only)) {
    table_.search_last(values);
    return *this;
  }

  /// A name for several values; `source` says who published them.
  FieldTableBuilder& preset(const char* name, const char* source,
                            std::vector<std::pair<std::string, FieldValue>> values) {
    table_.add_preset({name, source, std::move(values)});
    return *this;
  }

  operator FieldTable() const { return table_; }  // NOLINT: the builder is the table's literal

 private:
  template <class M>
  FieldTableBuilder& bind(FieldType type, const char* name, M S::*member, const char* unit, const char* help,
                          double minimum, double maximum, std::vector<std::string> choices) {
    Field field;
    field.name = name;
    field.type = type;
    field.unit = unit;
    field.help = help;
    field.minimum = minimum;
    field.maximum = maximum;
    field.choices = std::move(choices);
    using Stored = std::conditional_t<std::is_integral_v<M> && !std::is_same_v<M, bool>, std::int64_t, M>;
    field.get = [member](const void* object) {
      return FieldValue(static_cast<Stored>(static_cast<const S*>(object)->*member));
    };
    field.set = [member](void* object, const FieldValue& value) {
      static_cast<S*>(object)->*member = static_cast<M>(std::get<Stored>(value));
    };
    const S defaults{};
    table_.add(std::move(field), &defaults);
    return *this;
  }

  FieldTable table_;
};

template <class S>
FieldTableBuilder<S> make_fields() {
  return FieldTableBuilder<S>();
}

}  // namespace strobe
