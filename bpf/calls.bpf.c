// SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
/* System calls: where user code ends and kernel code begins, what was asked,
 * and how long it took. */
#include "account.h"
#include "decode.h"

#define EFAULT 14
#define ERESTARTSYS 512
#define ERESTARTNOINTR 513
#define ERESTARTNOHAND 514
#define ERESTART_RESTARTBLOCK 516

/* One of the calls that decode_entry knows? Sorted by how often they come. */
static __always_inline bool is_decoded(s32 nr)
{
	switch (nr) {
	case NR_openat:
	case NR_write:
	case NR_pwrite64:
	case NR_writev:
	case NR_sendto:
	case NR_sendmsg:
	case NR_sendmmsg:
	case NR_open:
	case NR_openat2:
	case NR_clone:
	case NR_fork:
	case NR_vfork:
	case NR_clone3:
	case NR_unshare:
	case NR_setns:
	case NR_mount:
	case NR_umount2:
	case NR_open_tree:
	case NR_move_mount:
	case NR_fsopen:
	case NR_fsmount:
	case NR_mount_setattr:
		return true;
	}
	return false;
}

static __always_inline int sys_enter(s32 nr, u64 regs)
{
	struct frt_cpu *c = this_cpu();
	struct task_state *s = followed_here(c);
	u64 now;

	if (!s)
		return 0;
	now = bpf_ktime_get_ns();
	account(s, now);
	s->sig_ts = 0;
	if (in_compat_call())
		nr |= FRT_NR_COMPAT;
	if (s->flags & FRT_F_PENDING) {
		if (nr == s->call.nr || nr == NR_restart_syscall) {
			s->flags &= ~FRT_F_PENDING;
			s->call.restarts++;
			s->call.again_ns = s->at_pend.cpu - s->at_call.cpu;
			return 0;
		}
		call__end_pending(c, s);
	} else if (s->mode != FRT_MODE_USER) {
		/* Its exit was not seen: what was open ends here. */
		if (!(s->flags & FRT_F_FRESH))
			unpaired(c);
		call__end(c, s, &s->sum, 0, now);
	}
	if (nr == NR_exit_group || nr == NR_exit) {
		call__begin(s, FRT_NR_EXIT, now);
		s->mode = FRT_MODE_EXIT;
		return 0;
	}
	call__begin(s, nr, now);
	s->mode = FRT_MODE_CALL;
	if (is_decoded(nr))
		decode_entry(s->slot, regs);
	return 0;
}

SEC("raw_tp/sys_enter")
int frt_sys_enter(struct bpf_raw_tracepoint_args *ctx)
{
	return sys_enter((s32)ctx->args[1], ctx->args[0]);
}

static __always_inline int sys_exit(s64 ret, u64 regs)
{
	struct frt_cpu *c = this_cpu();
	struct task_state *s = followed_here(c);
	u64 now, nr = 0;

	if (!s)
		return 0;
	now = bpf_ktime_get_ns();
	account(s, now);
	if (s->mode == FRT_MODE_USER || s->flags & FRT_F_PENDING) {
		/* seccomp answers a call before its entry is traced; whoever was just
		 * attached entered before. Neither is a loss. */
		if (!(s->flags & FRT_F_FRESH) && !BPF_CORE_READ(current_task(), seccomp.mode))
			unpaired(c);
		s->flags &= ~FRT_F_FRESH;
		return 0;
	}
	if (s->mode == FRT_MODE_EXIT)
		return 0;
	if (s->mode == FRT_MODE_START) {
		s->flags |= FRT_F_SEND;
	} else {
		if (s->flags & FRT_F_FRESH) {
			bpf_probe_read_kernel(&nr, sizeof(nr), FRT_NR_ADDR((const void *)regs));
			s->call.nr = (s32)nr;
		}
		if (s->call.detail != FRT_DET_NONE || s->flags & FRT_F_REREAD)
			decode_exit(s->slot, ret);
		if (ret == -ERESTARTSYS || ret == -ERESTARTNOINTR || ret == -ERESTARTNOHAND ||
		    ret == -ERESTART_RESTARTBLOCK) {
			s->flags |= FRT_F_PENDING;
			s->at_pend = s->sum;
			s->pend_ts = now;
			s->call.ret = ret;
			if (s->func)
				func__unwind(c, s);
			return 0;
		}
	}
	call__end(c, s, &s->sum, ret, now);
	s->mode = FRT_MODE_USER;
	return 0;
}

SEC("raw_tp/sys_exit")
int frt_sys_exit(struct bpf_raw_tracepoint_args *ctx)
{
	return sys_exit((s64)ctx->args[1], ctx->args[0]);
}

/*
 * The same by way of perf, which costs more and is not preempted: a kernel that
 * preempts a raw tracepoint's program (7.0, when it may preempt at all) skips the
 * program for whoever runs on that CPU meanwhile.
 */
struct frt_perf_syscall {
	u64 common;
	s64 nr, ret; /* ret: of the exit */
};

/* As a number: in map memory a pointer becomes one. Only here, where nothing comes in between
 * that does the same: no system call is entered in an interrupt. */
static __always_inline u64 user_regs(void)
{
	struct frt_cpu *c = this_cpu();

	if (!c)
		return 0;
	*(volatile u64 *)&c->scratch = (u64)bpf_task_pt_regs(bpf_get_current_task_btf());
	return *(volatile u64 *)&c->scratch;
}

SEC("?tp/raw_syscalls/sys_enter")
int frt_sys_enter_perf(struct frt_perf_syscall *ctx)
{
	return sys_enter((s32)ctx->nr, user_regs());
}

SEC("?tp/raw_syscalls/sys_exit")
int frt_sys_exit_perf(struct frt_perf_syscall *ctx)
{
	return sys_exit(ctx->ret, user_regs());
}
