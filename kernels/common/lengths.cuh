// lengths.cuh: Says which keys rows see where lengths of keys, or boundaries of packed documents,
// are given at run time.
#pragma once

#include "common/problem.cuh"

constexpr bool kLengths = LENGTHS != 0;

/// Keys `begin` to `end` - 1; none where end is not above begin.
struct KeyRange {
  i32 begin, end;
};

#if LENGTHS
/// The document of a row: the last start up to it, and the next. `starts` has DOCUMENTS + 1.
DEVICE KeyRange document_of(const i32* starts, i32 row) {
  KeyRange document{0, SEQ_KV};
#pragma unroll 8
  for (int i = 0; i <= DOCUMENTS; ++i) {
    const i32 start = starts[i];
    if (start <= row) document.begin = max_of(document.begin, start);
    if (start > row) document.end = min_of(document.end, start);
  }
  return document;
}

/// The keys that lengths leave visible to a row of a batch entry.
DEVICE KeyRange keys_of_lengths(const i32* lengths, int batch, i32 row) {
#if LENGTHS == LENGTHS_DOCUMENTS
  (void)batch;
  return document_of(lengths, row);
#else
  (void)row;
  const i32 length = max_of(0, min_of(SEQ_KV, lengths[batch]));
  return LENGTHS == LENGTHS_RIGHT ? KeyRange{0, length} : KeyRange{SEQ_KV - length, SEQ_KV};
#endif
}

/// The keys that mask and lengths let a row see. Neither bound falls from row to row. A row past the
/// last one sees what that one sees.
DEVICE KeyRange seen_keys(const i32* lengths, int batch, i32 row) {
  const i32 real = min_of(row, SEQ_Q - 1);
  const KeyRange given = keys_of_lengths(lengths, batch, real);
  return {max_of(given.begin, key_begin(real)), min_of(given.end, key_end(real))};
}
#endif
