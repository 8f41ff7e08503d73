#define TROUPE_ISA avx512
#include "row_table.h"
