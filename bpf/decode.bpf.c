// SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
/* What calls ask for: flags, paths, namespaces. Netlink is in netlink.bpf.c. */
#include "account.h"
#include "decode.h"

#define EFAULT 14

#define CLONE_VM 0x100
#define CLONE_VFORK 0x4000
#define SIGCHLD 17
#define MS_REC 0x4000
#define MS_BIND 0x1000

#define AT_RECURSIVE 0x8000

#define TEXT_TAIL 20 /* of a bind's source, with its NUL 21 */
#define TEXT_TARGET (FRT_TEXT_MAX - TEXT_TAIL - 2)

/* Up to room - 1 bytes and a NUL. Returns the length without NUL, < 0 when
 * the page is not there. ("" gives 0 or 1, by kernel.) */
static __always_inline long read_string(char *to, u32 room, u64 from)
{
	long n = bpf_probe_read_user_str(to, room, (const void *)from);

	return n > 0 ? n - 1 : n;
}

/* The target, a tab, then the end of the other string: of a path into /proc
 * its end says what it is. */
static __always_inline long decode_mount_text(struct task_state *s, u32 use)
{
	u64 target = s->ptr[0], tail = s->ptr[1];
	struct frt_scratch *sc = bpf_map_lookup_elem(&scratches, &use);
	long n, m;

	if (!sc)
		return 0;
	n = read_string(s->call.text, TEXT_TARGET, target);
	if (n < 0 || !tail)
		return n < 0 ? n : 0;
	/* Read whole elsewhere first, for its length. */
	m = read_string(sc->path, sizeof(sc->path), tail);
	if (m < 0)
		return m;
	if (m > TEXT_TAIL)
		tail += m - TEXT_TAIL;
	if (n > TEXT_TARGET - 1)
		n = TEXT_TARGET - 1;
	s->call.text[n] = '\t';
	m = read_string(s->call.text + n + 1, TEXT_TAIL + 1, tail);
	return m < 0 ? m : 0;
}

#define SYSCTL_PREFIX "/proc/sys/"
#define SYSCTL_LEN 10

/* Does the string at s->ptr[0] begin with /proc/sys/? Then its rest is the
 * text. Returns < 0 when it cannot be read. */
static __always_inline long decode_sysctl_path(struct task_state *s)
{
	u64 head = 0;
	u16 next = 0;
	long n;

	n = bpf_probe_read_user(&head, sizeof(head), (const void *)s->ptr[0]);
	if (n < 0)
		/* Perhaps a short string at the end of the last page. */
		return bpf_probe_read_user(&next, 1, (const void *)s->ptr[0]);
	if (head != 0x79732f636f72702fULL) /* "/proc/sy" */
		return 0;
	n = bpf_probe_read_user(&next, sizeof(next), (const void *)(s->ptr[0] + 8));
	if (n < 0 || next != 0x2f73) /* "s/" */
		return n;
	n = read_string(s->call.text, FRT_TEXT_MAX, s->ptr[0] + SYSCTL_LEN);
	if (n >= 0)
		s->call.detail = FRT_DET_OPEN;
	return n;
}

static __always_inline unsigned long file__magic(struct file *f)
{
	return BPF_CORE_READ(f, f_inode, i_sb, s_magic);
}

/* Is the descriptor a file below /proc/sys? Its path is walked up to the root
 * of procfs, then written down from there. */
static __always_inline long decode_write(struct task_state *s, u32 fd)
{
	struct file *f = file_of(fd);
	u32 use = FRT_SCRATCH_ENTRY;
	struct frt_scratch *sc;
	struct dentry *d, *up;
	u32 depth = 0, len = 0;
	char name[4] = {};
	long n;

	if (!f || file__magic(f) != PROC_SUPER_MAGIC)
		return 0;
	sc = bpf_map_lookup_elem(&scratches, &use);
	if (!sc)
		return 0;
	d = BPF_CORE_READ(f, f_path.dentry);
	for (int i = 0; i < 8; i++) {
		up = BPF_CORE_READ(d, d_parent);
		if (!up || up == d)
			break;
		sc->dentry[i] = (u64)d;
		depth = i + 1;
		d = up;
	}
	/* The outermost name is "sys", what is below it is the text. */
	if (depth < 2 || depth > 8)
		return 0;
	d = (struct dentry *)sc->dentry[(depth - 1) & 7];
	bpf_probe_read_kernel_str(name, sizeof(name), BPF_CORE_READ(d, d_name.name));
	if (name[0] != 's' || name[1] != 'y' || name[2] != 's')
		return 0;
	for (int i = 0; i < 7; i++) {
		if (depth - 2 - i >= 8)
			break;
		d = (struct dentry *)sc->dentry[(depth - 2 - i) & 7];
		len &= FRT_TEXT_MAX - 1;
		n = bpf_probe_read_kernel_str(sc->path + len, FRT_TEXT_MAX,
					      BPF_CORE_READ(d, d_name.name));
		if (n <= 0)
			break;
		len += n; /* n counts the NUL: the slash goes there */
		if (len >= FRT_TEXT_MAX)
			break;
		sc->path[(len - 1) & (FRT_TEXT_MAX - 1)] = '/';
	}
	if (!len)
		return 0;
	sc->path[(len < FRT_TEXT_MAX ? len - 1 : FRT_TEXT_MAX - 1) & (FRT_TEXT_MAX - 1)] = 0;
	__builtin_memcpy(s->call.text, sc->path, FRT_TEXT_MAX);
	s->call.text[FRT_TEXT_MAX - 1] = 0;
	s->call.flags = 0;
	s->call.detail = FRT_DET_WRITE;
	return 0;
}

static __always_inline void decode_ns_before(struct task_state *s, u64 flags)
{
	struct task_struct *t = current_task();

	s->call.detail = FRT_DET_NS;
	s->call.flags = flags;
	s->call.text[0] = 0;
	s->call.net_before = s->call.net_after = task__net(t);
	s->call.mnt_before = s->call.mnt_after = task__mnt(t);
}

/* setns: what stands behind the descriptor, when the caller does not say. */
static __always_inline long decode_setns(struct task_state *s, u32 fd, u64 type)
{
	struct file *f;

	if (!type) {
		f = file_of(fd);
		if (f && file__magic(f) == NSFS_MAGIC)
			type = ns__type(BPF_CORE_READ(f, f_inode, i_private));
	}
	decode_ns_before(s, (u32)type);
	return 0;
}

/* clone3: the flags are the first member of the structure. */
static __always_inline long decode_clone3(struct task_state *s)
{
	u64 flags = 0;
	long n = bpf_probe_read_user(&flags, sizeof(flags), (const void *)s->ptr[0]);

	decode_ns_before(s, flags);
	return n;
}

static __always_inline long decode_mount_attr(struct task_state *s)
{
	struct {
		u64 set, clr, propagation;
	} attr = {};
	long n = bpf_probe_read_user(&attr, sizeof(attr), (const void *)s->ptr[1]);

	if (n < 0)
		return n;
	s->call.flags = attr.propagation | (s->call.flags & AT_RECURSIVE ? MS_REC : 0);
	n = read_string(s->call.text, FRT_TEXT_MAX, s->ptr[0]);
	return n < 0 ? n : 0;
}

/* Is the descriptor a netlink socket? Then what is sent is decoded. */
static __always_inline long decode_send(struct task_state *s, u32 fd)
{
	struct file *f = file_of(fd);
	struct socket *sock;
	struct sock *sk;

	if (!f || (BPF_CORE_READ(f, f_inode, i_mode) & S_IFMT) != S_IFSOCK)
		return 0;
	sock = BPF_CORE_READ(f, private_data);
	sk = BPF_CORE_READ(sock, sk);
	if (!sk || BPF_CORE_READ(sk, __sk_common.skc_family) != AF_NETLINK)
		return 0;
	s->call.detail = FRT_DET_NETLINK;
	s->call.flags = 0;
	s->call.nl_proto = BPF_CORE_READ(sk, sk_protocol);
	s->call.nl_type = s->call.nl_flags = s->call.nl_msgs = 0;
	return decode_netlink(s->slot, FRT_SCRATCH_ENTRY);
}

/* Strings were not in memory: once more at the exit. */
static __always_inline void reread(struct task_state *s, long err)
{
	if (err < 0)
		s->flags |= FRT_F_REREAD;
}

/* Only calls named here pay for more than two clock reads. */
int decode_entry(u32 slot, u64 regs)
{
	struct task_state *s = slot__get(slot);
	struct frt_arg_block b;
	s32 nr;

	if (!s)
		return 0;
	nr = s->call.nr;

	call_arguments(regs, &b);
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
	case NR_pwrite64:
	case NR_writev:
		decode_write(s, (u32)FRT_ARG0(&b));
		break;
	case NR_sendto:
		s->ptr[0] = FRT_ARG1(&b);
		s->ptr[1] = FRT_ARG2(&b);
		if (s->ptr[1])
			reread(s, decode_send(s, (u32)FRT_ARG0(&b)));
		break;
	case NR_sendmsg:
	case NR_sendmmsg: /* its first message */
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
		reread(s, decode_mount_text(s, FRT_SCRATCH_ENTRY));
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
		reread(s, decode_mount_text(s, FRT_SCRATCH_ENTRY));
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
int decode_exit(u32 slot, s64 ret)
{
	struct task_state *s = slot__get(slot);
	struct frt_cpu *c = this_cpu();
	struct task_struct *t;
	long err = 0;

	if (!s || !c)
		return 0;

	if (s->flags & FRT_F_REREAD) {
		switch (s->call.detail) {
		case FRT_DET_MOUNT:
			err = s->call.nr == NR_mount_setattr
				      ? decode_mount_attr(s)
				      : decode_mount_text(s, FRT_SCRATCH_EXIT);
			break;
		case FRT_DET_NETLINK:
			err = decode_netlink(slot, FRT_SCRATCH_EXIT);
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
