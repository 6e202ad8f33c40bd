/* board: what the images need of a processor and of QEMU: start, the tick, semihosting.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TARN_TESTS_BOARD_H
#define TARN_TESTS_BOARD_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

int main(void);  /* Its value is QEMU's exit status. */
void tick(void); /* The handler of the SysTick interrupt. */

void board_print(const char* text);
void board_print_number(const char* text, uint32_t number); /* In decimal, with a newline. */
__attribute__((noreturn)) void board_exit(int status);
void board_start_ticks(uint32_t cycles);
void board_stop_ticks(void);

/* Bytes between the end of .bss and the end of RAM, and how many of them the stack has never
 * reached. */
uint32_t board_stack_bytes(void);
uint32_t board_stack_untouched_bytes(void);

/* Calls board_exit(1) with the text when the condition does not hold. */
#define REQUIRE(condition) \
  ((condition) ? (void)0 : board_fail(__FILE__ ": failed: " #condition "\n"))
__attribute__((noreturn)) void board_fail(const char* text);

#ifdef __cplusplus
}
#endif

#endif
