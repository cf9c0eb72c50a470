// pipeline_state.cuh: Tracks where a warpgroup stands in its KV blocks.
#pragma once

#include "fa_wgmma/traits.cuh"

/// Where a split stands in its KV blocks of a work tile, and in the stages.
struct PipelineState {
  int iteration;
  int stage;
  u32 phase;  // of the stage's barriers

  DEVICE PipelineState next() const {
    PipelineState after{iteration + INTRA_CTA_SPLITS, stage + INTRA_CTA_SPLITS, phase};
    if (!kResident && after.stage >= kStages) {
      after.stage -= kStages;
      after.phase ^= 1;
    }
    return after;
  }
};
