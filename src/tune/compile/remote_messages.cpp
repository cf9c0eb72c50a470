// remote_messages.cpp - the fields of each message.
#include "tune/compile/remote_messages.hpp"

#include "core/fields.hpp"

namespace fatune {

void fields(CompileMessage& x, FieldList& f) {
  f.tag("t", "compile");
  f("number", x.number).required();
  f("order", x.order).required();
}

void fields(WithdrawMessage& x, FieldList& f) {
  f.tag("t", "withdraw");
  f("number", x.number).required();
}

void fields(CompiledMessage& x, FieldList& f) {
  f.tag("t", "compiled");
  f("number", x.number).required();
  f("refused", x.refused);
  f("compiled", x.compiled).required();
  f("code", x.code);
}

}  // namespace fatune
