/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * What calls ask for, read from their arguments at the entry. What a call
 * points at may not be in memory yet (a literal nobody has touched): then the
 * pointers are kept and read again at the exit, when the kernel has had to.
 */
#ifndef FRT_DECODE_H
#define FRT_DECODE_H

#include "account.h"

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
static __noinline long decode_mount_text(struct task_state *s)
{
	u64 target = s->ptr[0], tail = s->ptr[1];
	u32 use = FRT_SCRATCH_TASK;
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
static __noinline long decode_write(struct task_state *s, u32 fd)
{
	struct file *f = file_of(fd);
	u32 use = FRT_SCRATCH_TASK;
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
static __noinline long decode_setns(struct task_state *s, u32 fd, u64 type)
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
static __noinline long decode_clone3(struct task_state *s)
{
	u64 flags = 0;
	long n = bpf_probe_read_user(&flags, sizeof(flags), (const void *)s->ptr[0]);

	decode_ns_before(s, flags);
	return n;
}

static __noinline long decode_mount_attr(struct task_state *s)
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

#endif
