// reference.h: Computes attention in double precision, row by row, on f16 and bf16 as 16 bits.
#ifndef REFERENCE_H
#define REFERENCE_H

#include <fatune_rt.h>
#include <stddef.h>
#include <stdint.h>

int is_causal(const fatune_rt_problem *problem);

/* Says the strides of contiguous tensors, which are 0 in a problem. */
void fill_strides(fatune_rt_problem *problem);
/* From the first to the last element, wherever rows lie. */
size_t query_elements(const fatune_rt_problem *problem, const fatune_rt_strides *strides); /* q, out */
size_t key_elements(const fatune_rt_problem *problem, const fatune_rt_strides *strides);   /* k, v */
size_t query_rows(const fatune_rt_problem *problem); /* of lse */

/* Random multiples of 1/64 from -1 to 1, which both types hold exactly. */
void random_elements(uint16_t *elements, size_t count, int32_t dtype);

typedef struct host_tensors {
  uint16_t *q, *k, *v, *out;
  float *lse; /* null unless the problem has lse */
} host_tensors;

/* The largest difference of out (and of lse) to the reference, over some rows of the first, a middle
 * and the last head. Infinity when one is no number. The problem's strides are filled. */
double largest_error(const fatune_rt_problem *problem, const host_tensors *tensors);

/* What that difference may be: weights are rounded to the element type before they meet v, which is
 * at most 1, and so is out: a few units in the last place. */
double allowed_error(int32_t dtype);

#endif
