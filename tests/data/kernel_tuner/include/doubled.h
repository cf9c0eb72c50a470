// doubled.h: A macro of a header that a script finds by -I.
#pragma once
#define DOUBLED(x) (2 * (x))
