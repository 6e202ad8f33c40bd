// dlopen: clears RTLD_DEEPBIND. A module that is opened with it would find libc's malloc before
// tarn's, and hand its blocks to tarn's free. Both functions jump to libc's own, so that libc sees
// the program as the caller, whose RUNPATH counts. entry/malloc/linux/next_dlopen.cpp looks the
// targets up once.
//
// SPDX-License-Identifier: MIT
#if defined(__x86_64__)
  .text

  .globl dlopen
  .type dlopen, @function
dlopen:
  .cfi_startproc
  andl $~8, %esi
  movq tarn_next_dlopen(%rip), %rax
  testq %rax, %rax
  je 1f
  jmp *%rax
1:
  pushq %rdi
  .cfi_adjust_cfa_offset 8
  pushq %rsi
  .cfi_adjust_cfa_offset 8
  subq $8, %rsp
  .cfi_adjust_cfa_offset 8
  call tarn_find_next_dlopen
  addq $8, %rsp
  .cfi_adjust_cfa_offset -8
  popq %rsi
  .cfi_adjust_cfa_offset -8
  popq %rdi
  .cfi_adjust_cfa_offset -8
  jmp *%rax
  .cfi_endproc
  .size dlopen, .-dlopen

  .globl dlmopen
  .type dlmopen, @function
dlmopen:
  .cfi_startproc
  andl $~8, %edx
  movq tarn_next_dlmopen(%rip), %rax
  testq %rax, %rax
  je 1f
  jmp *%rax
1:
  pushq %rdi
  .cfi_adjust_cfa_offset 8
  pushq %rsi
  .cfi_adjust_cfa_offset 8
  pushq %rdx
  .cfi_adjust_cfa_offset 8
  call tarn_find_next_dlmopen
  popq %rdx
  .cfi_adjust_cfa_offset -8
  popq %rsi
  .cfi_adjust_cfa_offset -8
  popq %rdi
  .cfi_adjust_cfa_offset -8
  jmp *%rax
  .cfi_endproc
  .size dlmopen, .-dlmopen

#elif defined(__aarch64__)
  .text

  .globl dlopen
  .type dlopen, %function
dlopen:
  .cfi_startproc
  hint #34  // bti c: a landing pad for indirect calls, a nop where there is no such thing.
  and w1, w1, #0xfffffff7
  stp x29, x30, [sp, #-32]!
  .cfi_adjust_cfa_offset 32
  .cfi_rel_offset x29, 0
  .cfi_rel_offset x30, 8
  stp x0, x1, [sp, #16]
  bl tarn_find_next_dlopen
  mov x16, x0
  ldp x0, x1, [sp, #16]
  ldp x29, x30, [sp], #32
  .cfi_adjust_cfa_offset -32
  .cfi_restore x29
  .cfi_restore x30
  br x16
  .cfi_endproc
  .size dlopen, .-dlopen

  .globl dlmopen
  .type dlmopen, %function
dlmopen:
  .cfi_startproc
  hint #34
  and w2, w2, #0xfffffff7
  stp x29, x30, [sp, #-48]!
  .cfi_adjust_cfa_offset 48
  .cfi_rel_offset x29, 0
  .cfi_rel_offset x30, 8
  stp x0, x1, [sp, #16]
  str x2, [sp, #32]
  bl tarn_find_next_dlmopen
  mov x16, x0
  ldp x0, x1, [sp, #16]
  ldr x2, [sp, #32]
  ldp x29, x30, [sp], #48
  .cfi_adjust_cfa_offset -48
  .cfi_restore x29
  .cfi_restore x30
  br x16
  .cfi_endproc
  .size dlmopen, .-dlmopen
#endif

  .section .note.GNU-stack, "", %progbits
