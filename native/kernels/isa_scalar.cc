#define TROUPE_ISA scalar
#include "row_table.h"
