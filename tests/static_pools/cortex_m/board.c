/* board: vectors, reset, SysTick and semihosting for a Cortex-M0 or M3 under QEMU.
 *
 * SPDX-License-Identifier: MIT */
#include "board.h"

extern uint32_t bss_begin[], bss_end[], ram_end[];
extern void (*const init_array_begin[])(void);
extern void (*const init_array_end[])(void);

enum { stack_mark = 0x5ac3a53c };

static int semihosting(int operation, const void* argument) {
  register int r0 __asm__("r0") = operation;
  register const void* r1 __asm__("r1") = argument;
  __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
  return r0;
}

void board_print(const char* text) { semihosting(0x04, text); /* SYS_WRITE0 */ }

void board_print_number(const char* text, uint32_t number) {
  char digits[12];
  char* at = digits + sizeof digits - 1;
  *at = 0;
  *--at = '\n';
  do {
    *--at = (char)('0' + number % 10);
    number /= 10;
  } while (number != 0);
  board_print(text);
  board_print(at);
}

void board_exit(int status) {
  const uintptr_t arguments[2] = {0x20026, (uintptr_t)status}; /* ADP_Stopped_ApplicationExit */
  semihosting(0x20, arguments);                                /* SYS_EXIT_EXTENDED */
  for (;;) {
  }
}

void board_fail(const char* text) {
  board_print(text);
  board_exit(1);
}

static volatile uint32_t* const systick = (volatile uint32_t*)0xe000e010;

void board_start_ticks(uint32_t cycles) {
  systick[1] = cycles;
  systick[2] = 0;
  systick[0] = 7; /* The processor's clock, with an interrupt, on. */
}
void board_stop_ticks(void) { systick[0] = 0; }

uint32_t board_stack_bytes(void) { return (uint32_t)((char*)ram_end - (char*)bss_end); }
uint32_t board_stack_untouched_bytes(void) {
  const uint32_t* at = bss_end;
  while (at < ram_end && *at == stack_mark) ++at;
  return (uint32_t)((const char*)at - (const char*)bss_end);
}

static void unexpected(void) { board_fail("board: a fault, or an interrupt without a handler\n"); }

void reset(void) {
  for (volatile uint32_t* at = bss_begin; at < bss_end; ++at) *at = 0;
  /* Up to this frame. */
  for (volatile uint32_t* at = bss_end; at < (uint32_t*)__builtin_frame_address(0) - 16; ++at) {
    *at = stack_mark;
  }
  for (void (*const* f)(void) = init_array_begin; f < init_array_end; ++f) (*f)();
  board_exit(main());
}

__attribute__((section(".vectors"), used)) void* const vectors[16] = {
    ram_end,
    (void*)reset,
    (void*)unexpected,
    (void*)unexpected,
    (void*)unexpected,
    (void*)unexpected,
    (void*)unexpected,
    0,
    0,
    0,
    0,
    (void*)unexpected,
    (void*)unexpected,
    0,
    (void*)unexpected,
    (void*)tick,
};
