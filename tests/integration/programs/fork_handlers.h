// A library with fork handlers that use the program's data. See handled_data.c.
#include <stddef.h>
#include <stdint.h>

extern uint64_t* handled;
extern size_t handled_words;
void register_more(void);
