// blur_sizes.h: The number of weights.
#pragma once
#define WEIGHTS 5
