/* The record, and the report by call, in a file of its own: a caller's compiler sees the name. */
#include "fortify.h"

struct record record;

#ifdef COLD_REPORTS
void report(enum function function, enum direction direction, size_t bytes, size_t size)
{
	record.reports++;
	record.function = function;
	record.direction = direction;
	record.bytes = bytes;
	record.size = size;
}
#endif
