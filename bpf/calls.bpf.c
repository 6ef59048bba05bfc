// SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
/* System calls: where user code ends and kernel code begins, what was asked,
 * and how long it took. */
#include "decode.h"
#include "netlink.h"

#define EFAULT 14
#define ERESTARTSYS 512
#define ERESTARTNOINTR 513
#define ERESTARTNOHAND 514
#define ERESTART_RESTARTBLOCK 516

/* Strings were not in memory: once more at the exit. */
static __always_inline void reread(struct task_state *s, long err)
{
	if (err < 0)
		s->flags |= FRT_F_REREAD;
}

/* Only calls named here pay for more than two clock reads. */
static __noinline int decode_entry(struct task_state *s, const void *regs)
{
	struct frt_arg_block b;
	s32 nr = s->call.nr;

	bpf_probe_read_kernel(&b, sizeof(b), FRT_ARG_BLOCK(regs));
	switch (nr) {
	case NR_openat:
	case NR_openat2:
		s->ptr[0] = FRT_ARG1(&b);
		s->call.flags = nr == NR_openat ? (u32)FRT_ARG2(&b) : 0;
		reread(s, decode_sysctl_path(s));
		break;
	case NR_open:
		s->ptr[0] = FRT_ARG0(&b);
		s->call.flags = (u32)FRT_ARG1(&b);
		reread(s, decode_sysctl_path(s));
		break;
	case NR_write:
		decode_write(s, (u32)FRT_ARG0(&b));
		break;
	case NR_sendto:
		s->ptr[0] = FRT_ARG1(&b);
		s->ptr[1] = FRT_ARG2(&b);
		if (s->ptr[1])
			reread(s, decode_send(s, (u32)FRT_ARG0(&b)));
		break;
	case NR_sendmsg:
		s->ptr[0] = FRT_ARG1(&b);
		s->ptr[1] = 0;
		reread(s, decode_send(s, (u32)FRT_ARG0(&b)));
		break;
	case NR_unshare:
	case NR_clone:
		decode_ns_before(s, FRT_ARG0(&b));
		break;
	case NR_fork:
		decode_ns_before(s, SIGCHLD);
		break;
	case NR_vfork:
		decode_ns_before(s, CLONE_VFORK | CLONE_VM | SIGCHLD);
		break;
	case NR_clone3:
		s->ptr[0] = FRT_ARG0(&b);
		reread(s, decode_clone3(s));
		break;
	case NR_setns:
		decode_setns(s, (u32)FRT_ARG0(&b), FRT_ARG1(&b));
		break;
	case NR_mount:
		s->call.detail = FRT_DET_MOUNT;
		s->call.flags = FRT_ARG3(&b);
		s->ptr[0] = FRT_ARG1(&b);
		s->ptr[1] = FRT_ARG3(&b) & MS_BIND ? FRT_ARG0(&b) : FRT_ARG2(&b);
		reread(s, decode_mount_text(s));
		break;
	case NR_umount2:
	case NR_open_tree:
	case NR_move_mount:
	case NR_fsopen:
		s->call.detail = FRT_DET_MOUNT;
		s->ptr[0] = nr == NR_move_mount	 ? FRT_ARG3(&b)
			    : nr == NR_open_tree ? FRT_ARG1(&b)
						 : FRT_ARG0(&b);
		s->call.flags = nr == NR_move_mount  ? FRT_ARG4(&b)
				: nr == NR_open_tree ? FRT_ARG2(&b)
						     : FRT_ARG1(&b);
		s->ptr[1] = 0;
		reread(s, decode_mount_text(s));
		break;
	case NR_fsmount:
		s->call.detail = FRT_DET_MOUNT;
		s->call.flags = FRT_ARG1(&b);
		s->call.text[0] = 0;
		break;
	case NR_mount_setattr:
		s->call.detail = FRT_DET_MOUNT;
		s->call.flags = FRT_ARG2(&b);
		s->ptr[0] = FRT_ARG1(&b);
		s->ptr[1] = FRT_ARG3(&b);
		reread(s, decode_mount_attr(s));
		break;
	}
	return 0;
}

/* The strings again, and what only the end can tell. */
static __noinline int decode_exit(struct frt_cpu *c, struct task_state *s, s64 ret)
{
	struct task_struct *t;
	long err = 0;

	if (s->flags & FRT_F_REREAD) {
		switch (s->call.detail) {
		case FRT_DET_MOUNT:
			err = s->call.nr == NR_mount_setattr ? decode_mount_attr(s)
							     : decode_mount_text(s);
			break;
		case FRT_DET_NETLINK:
			err = decode_netlink_text(s);
			break;
		case FRT_DET_NS:
			err = decode_clone3(s);
			break;
		default:
			err = decode_sysctl_path(s);
		}
		if (err < 0) {
			/* The kernel could not read it either: there was nothing to decode. */
			s->call.detail = ret == -EFAULT ? FRT_DET_NONE : FRT_DET_BAD;
			if (ret != -EFAULT)
				c->loss[FRT_LOSS_UNDECODED]++;
		}
	}
	if (s->call.nr == NR_unshare || s->call.nr == NR_setns) {
		t = current_task();
		s->call.net_after = task__net(t);
		s->call.mnt_after = task__mnt(t);
	}
	return 0;
}

/* One of the calls that decode_entry knows? Sorted by how often they come. */
static __always_inline bool is_decoded(s32 nr)
{
	switch (nr) {
	case NR_openat:
	case NR_write:
	case NR_sendto:
	case NR_sendmsg:
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

SEC("raw_tp/sys_enter")
int frt_sys_enter(struct bpf_raw_tracepoint_args *ctx)
{
	s32 nr = (s32)ctx->args[1];
	struct frt_cpu *c = this_cpu();
	struct task_state *s = followed(c);
	u64 now;

	if (!s)
		return 0;
	now = bpf_ktime_get_ns();
	account(s, now);
	s->sig_ts = 0;
	if (task__compat(current_task()))
		nr |= FRT_NR_COMPAT;
	if (s->flags & FRT_F_PENDING) {
		if (nr == s->call.nr || nr == NR_restart_syscall) {
			s->flags &= ~FRT_F_PENDING;
			s->call.restarts++;
			return 0;
		}
		call__end_pending(c, s);
	} else if (s->mode != FRT_MODE_USER) {
		/* Its exit was not seen: what was open ends here. */
		if (!(s->flags & FRT_F_FRESH))
			c->loss[FRT_LOSS_UNPAIRED]++;
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
		decode_entry(s, (const void *)ctx->args[0]);
	return 0;
}

SEC("raw_tp/sys_exit")
int frt_sys_exit(struct bpf_raw_tracepoint_args *ctx)
{
	s64 ret = (s64)ctx->args[1];
	struct frt_cpu *c = this_cpu();
	struct task_state *s = followed(c);
	u64 now, nr = 0;

	if (!s)
		return 0;
	now = bpf_ktime_get_ns();
	account(s, now);
	if (s->mode == FRT_MODE_USER || s->flags & FRT_F_PENDING) {
		/* seccomp answers a call before its entry is traced; whoever was just
		 * attached entered before. Neither is a loss. */
		if (!(s->flags & FRT_F_FRESH) && !BPF_CORE_READ(current_task(), seccomp.mode))
			c->loss[FRT_LOSS_UNPAIRED]++;
		s->flags &= ~FRT_F_FRESH;
		return 0;
	}
	if (s->mode == FRT_MODE_EXIT)
		return 0;
	if (s->mode == FRT_MODE_START) {
		s->flags |= FRT_F_SEND;
	} else {
		if (s->flags & FRT_F_FRESH) {
			bpf_probe_read_kernel(&nr, sizeof(nr),
					      FRT_NR_ADDR((const void *)ctx->args[0]));
			s->call.nr = (s32)nr;
		}
		if (s->call.detail != FRT_DET_NONE || s->flags & FRT_F_REREAD)
			decode_exit(c, s, ret);
		if (ret == -ERESTARTSYS || ret == -ERESTARTNOINTR || ret == -ERESTARTNOHAND ||
		    ret == -ERESTART_RESTARTBLOCK) {
			s->flags |= FRT_F_PENDING;
			s->at_pend = s->sum;
			s->pend_ts = now;
			s->call.ret = ret;
			return 0;
		}
	}
	call__end(c, s, &s->sum, ret, now);
	s->mode = FRT_MODE_USER;
	return 0;
}
