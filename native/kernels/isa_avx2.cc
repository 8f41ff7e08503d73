#define TROUPE_ISA avx2
#include "row_table.h"
