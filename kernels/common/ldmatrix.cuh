// ldmatrix.cuh: Loads 8x8 matrices of 16-bit elements from shared memory to fragments of mma.
#pragma once

#include "common/prelude.cuh"

/// Loads four 8x8 matrices of 16-bit elements; lanes 8i .. 8i + 7 give the addresses of the 16-byte
/// rows of matrix i.
DEVICE void ldmatrix_x4(u32 (&to)[4], u32 address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(address));
}

/// The same, each matrix transposed on the way.
DEVICE void ldmatrix_x4_trans(u32 (&to)[4], u32 address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(address));
}

/// Bytes of two registers, those of b from 4 on, picked by the digits of kSelector from the lowest.
template <u32 kSelector>
DEVICE u32 permute_bytes(u32 a, u32 b) {
  u32 result;
  asm("prmt.b32 %0, %1, %2, %3;" : "=r"(result) : "r"(a), "r"(b), "n"(kSelector));
  return result;
}

/// Four octets of rows of 16 bytes each, as ldmatrix_x4_trans leaves them, to columns. A register
/// of lane (g, t) = (lane / 4, lane % 4) has columns 2g and 2g + 1 of rows 2t and 2t + 1 of an
/// octet; afterwards it has four rows of one column: 2t, 2t + 1, 2t + 8 and 2t + 9 of column 2g in
/// columns[0], of column 2g + 1 in columns[2]; of the rows 16 further in columns[1] and columns[3].
DEVICE void transpose_octets(u32 (&columns)[4], const u32 (&octets)[4]) {
  columns[0] = permute_bytes<0x6420>(octets[0], octets[1]);
  columns[1] = permute_bytes<0x6420>(octets[2], octets[3]);
  columns[2] = permute_bytes<0x7531>(octets[0], octets[1]);
  columns[3] = permute_bytes<0x7531>(octets[2], octets[3]);
}
