// cutensor.cu: Computes the softmax of the rows of S that a contraction left in memory; P takes
// their place.
//
// The launches: S = SOFTMAX_SCALE * QK^T (cuTENSOR), this kernel, O = PV (cuTENSOR). The softmax is
// that of cublas.cu, whose notes hold for it; cuTENSOR contracts f16 and bf16 to their own type
// alone, so S has the problem's type.
#define SCORE_TYPE_F32 1
#define SCORE_TYPE 0
#include "cublas/cublas.cu"
