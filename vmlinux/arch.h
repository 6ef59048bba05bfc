/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * What differs between machines: where a system call's number and arguments
 * stand in the saved registers, how user mode and 32-bit calls are told, and
 * the numbers of the calls that are decoded. The layouts are ABI (ptrace,
 * perf), so they need no relocation.
 */
#ifndef FRT_ARCH_H
#define FRT_ARCH_H

#define FRT_NO_CALL 0xffffff /* a call this machine does not have */

#if defined(__TARGET_ARCH_x86)

struct frt_regs {
	u64 r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di;
	u64 orig_ax, ip, cs, flags, sp, ss;
};

/* r10 to di lie side by side: one read brings all six arguments. */
struct frt_arg_block {
	u64 r10, r9, r8, ax, cx, dx, si, di;
};
#define FRT_ARG_BLOCK(regs) ((const char *)(regs) + __builtin_offsetof(struct frt_regs, r10))
#define FRT_ARG0(b) ((b)->di)
#define FRT_ARG1(b) ((b)->si)
#define FRT_ARG2(b) ((b)->dx)
#define FRT_ARG3(b) ((b)->r10)
#define FRT_ARG4(b) ((b)->r8)
#define FRT_NR_ADDR(regs) ((const char *)(regs) + __builtin_offsetof(struct frt_regs, orig_ax))
#define FRT_USER_REGS(r) (((r)->cs & 3) == 3)
/* Arguments of a kernel function at its entry. */
#define FRT_FUNC_ARG0(r) ((r)->di)
#define FRT_FUNC_ARG1(r) ((r)->si)

/* TS_COMPAT in thread_info.status; set at the entry of a 32-bit call. */
#define FRT_COMPAT_STATUS 0x0002
/* Interrupts that hit kernel code run on a stack of their own; a task's is 16 KiB. */
#define FRT_TASK_STACK 16384

enum {
	NR_write = 1,
	NR_pwrite64 = 18,
	NR_writev = 20,
	NR_sendmmsg = 307,
	NR_open = 2,
	NR_sendto = 44,
	NR_sendmsg = 46,
	NR_clone = 56,
	NR_fork = 57,
	NR_vfork = 58,
	NR_execve = 59,
	NR_exit = 60,
	NR_mount = 165,
	NR_umount2 = 166,
	NR_flock = 73,
	NR_restart_syscall = 219,
	NR_exit_group = 231,
	NR_openat = 257,
	NR_unshare = 272,
	NR_setns = 308,
	NR_execveat = 322,
};

#elif defined(__TARGET_ARCH_arm64)

struct frt_regs {
	u64 regs[31], sp, pc, pstate;
};

struct frt_arg_block {
	u64 x[6];
};
#define FRT_ARG_BLOCK(regs) ((const char *)(regs))
#define FRT_ARG0(b) ((b)->x[0])
#define FRT_ARG1(b) ((b)->x[1])
#define FRT_ARG2(b) ((b)->x[2])
#define FRT_ARG3(b) ((b)->x[3])
#define FRT_ARG4(b) ((b)->x[4])
/* x8 holds the number from entry to exit. */
#define FRT_NR_ADDR(r) ((const char *)(r) + __builtin_offsetof(struct frt_regs, regs[8]))
#define FRT_USER_REGS(r) (((r)->pstate & 0xf) == 0)
#define FRT_FUNC_ARG0(r) ((r)->regs[0])
#define FRT_FUNC_ARG1(r) ((r)->regs[1])

/* _TIF_32BIT in thread_info.flags. */
#define FRT_COMPAT_FLAGS (1UL << 22)

enum {
	NR_flock = 32,
	NR_umount2 = 39,
	NR_mount = 40,
	NR_openat = 56,
	NR_write = 64,
	NR_writev = 66,
	NR_pwrite64 = 68,
	NR_sendmmsg = 269,
	NR_exit = 93,
	NR_exit_group = 94,
	NR_unshare = 97,
	NR_restart_syscall = 128,
	NR_sendto = 206,
	NR_sendmsg = 211,
	NR_clone = 220,
	NR_execve = 221,
	NR_setns = 268,
	NR_execveat = 281,
	NR_open = FRT_NO_CALL,
	NR_fork = FRT_NO_CALL + 1,
	NR_vfork = FRT_NO_CALL + 2,
};

#else
#error "frtrace knows the registers of x86-64 and arm64 only: add this machine to vmlinux/arch.h"
#endif

/* Since 5.0 new calls have one number everywhere. */
enum {
	NR_open_tree = 428,
	NR_move_mount = 429,
	NR_fsopen = 430,
	NR_fsmount = 432,
	NR_clone3 = 435,
	NR_openat2 = 437,
	NR_mount_setattr = 442,
};

#endif /* FRT_ARCH_H */
