#define TROUPE_ISA neon
#include "row_table.h"
