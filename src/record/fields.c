/* SPDX-License-Identifier: BSD-2-Clause */
#include "record/fields.h"
#include "record/record.h"
#include "util/util.h"

#include <frtrace/events.h>

/* The width follows from the member; only what a member means is said here. */
#define WIDTH(s, m) \
	_Generic(((struct s *)0)->m,                                                     \
		uint32_t: FIELD_U32,                                                     \
		int32_t: FIELD_I32,                                                      \
		uint64_t: FIELD_U64,                                                     \
		int64_t: FIELD_I64,                                                      \
		const char *: FIELD_TEXT)
#define NUM(s, m)                                         \
	{                                                 \
#m, offsetof(struct s, m), WIDTH(s, m), 0 \
	}
#define ONE_OF(s, m, l)                                   \
	{                                                 \
#m, offsetof(struct s, m), WIDTH(s, m), l \
	}
#define TIME(s, m)                                       \
	{                                                \
#m, offsetof(struct s, m), FIELD_TIME, 0 \
	}
#define TEXT(s, m)                                        \
	{                                                 \
#m, offsetof(struct s, m), WIDTH(s, m), 0 \
	}
#define TEXT0(s, m)                                              \
	{                                                        \
#m, offsetof(struct s, m), FIELD_TEXT_OR_NULL, 0 \
	}
#define TAG(s) NUM(s, task), NUM(s, image), NUM(s, instance)

/* clang-format off */
static const struct record_field level_fields[] = {
#define F(m) NUM(frt_level, m)
	F(id), F(asked), F(again), F(run), F(streams), ONE_OF(frt_level, mode, FRT_WORKMODES),
	F(existing), F(existing_end), TIME(frt_level, t0), TIME(frt_level, t1), F(routers), F(warmup),
	F(filled), F(fill_threads), F(fill_ns), F(settle_ns), F(free_wait_ns), F(fill_mem_kb),
	F(fill_slab_kb), F(steal_ns), F(cpu_ns), F(links), F(mounts),
#undef F
};

static const struct record_field router_fields[] = {
#define F(m) NUM(frt_router, m)
	F(id), F(level), F(stream), F(flags), F(block), TIME(frt_router, t0), TIME(frt_router, t1),
	F(existing), F(steal_ns), F(cpu_ns), F(creator),
#undef F
};

static const struct record_field step_fields[] = {
#define F(m) NUM(frt_stepinst, m)
	F(instance), F(router), F(level), F(step), F(creator), F(status), TIME(frt_stepinst, t0),
	TIME(frt_stepinst, t1), F(utime_ns), F(stime_ns), F(minflt), F(nvcsw), F(nivcsw), F(part),
#undef F
};

static const struct record_field proc_fields[] = {
#define F(m) NUM(frt_proc, m)
	F(task), F(parent), F(instance), F(tid), F(tgid), F(is_thread), F(is_creator),
	TIME(frt_proc, t), TEXT(frt_proc, comm),
#undef F
};

static const struct record_field exec_fields[] = {
#define F(m) NUM(frt_exec, m)
	TAG(frt_exec), TIME(frt_exec, t), F(cpu_ns), F(user_ns), F(rest_ns), F(rest_n), F(old_task),
	F(args_total), TEXT(frt_exec, args), TEXT(frt_exec, comm),
#undef F
};

static const struct record_field dead_fields[] = {
#define F(m) NUM(frt_dead, m)
	TAG(frt_dead), TIME(frt_dead, t), F(cpu_ns), F(user_ns), F(rest_ns), F(rest_n), F(code),
#undef F
};

static const struct record_field call_fields[] = {
#define F(m) NUM(frt_call, m)
	TAG(frt_call), F(seq), F(nr), ONE_OF(frt_call, detail, FRT_DET_BAD + 1), TIME(frt_call, t0),
	TIME(frt_call, t1), F(ret), F(cpu_ns), F(blocked_ns), F(runq_ns), F(restarts), F(again_ns),
	F(flags), F(net_before), F(net_after), F(mnt_before), F(mnt_after), F(nl_proto), F(nl_type),
	F(nl_flags), F(nl_msgs), TEXT(frt_call, text),
#undef F
};

static const struct record_field off_fields[] = {
#define F(m) NUM(frt_off, m)
	TAG(frt_off), ONE_OF(frt_off, why, FRT_OFF_BIRTH + 1), ONE_OF(frt_off, mode, FRT_MODE_EXIT + 1),
	F(nr), TIME(frt_off, out), TIME(frt_off, waking), TIME(frt_off, in), F(cpu_ns), F(user_ns),
	F(state), F(stack), F(waker), F(waker_image), F(waker_instance), F(waker_cpu_ns),
	F(waker_user_ns), TEXT(frt_off, waker_comm),
#undef F
};

static const struct record_field node_fields[] = {
	NUM(frt_node, id), NUM(frt_node, parent), TEXT(frt_node, frame),
};

static const struct record_field sample_fields[] = {
#define F(m) NUM(frt_sample, m)
	TAG(frt_sample), ONE_OF(frt_sample, mode, FRT_MODE_EXIT + 1), F(in_kernel), F(nr), F(seq),
	TIME(frt_sample, t), F(stack),
#undef F
};

static const struct record_field func_fields[] = {
#define F(m) NUM(frt_func, m)
	TAG(frt_func), F(seq), F(nr), F(node), F(parent), F(variant), F(n), F(total_ns), F(child_ns),
	F(off_ns), F(child_off_ns), TEXT(frt_func, function),
#undef F
};

static const struct record_field loss_fields[] = {
#define F(m) NUM(frt_loss, m)
	F(level), F(events), F(maps_full), F(samples), F(unpaired), F(undecoded), F(untagged), F(sent),
	F(samples_taken), F(spins), F(unfinished), F(missed),
#undef F
};

static const struct record_field outside_fields[] = {
#define F(m) NUM(frt_outside, m)
	F(level), F(own), F(cpu_ns), F(over_ns), F(base_cpu_ns), F(base_over_ns),
	TEXT(frt_outside, comm), TEXT0(frt_outside, woken_by), TEXT0(frt_outside, frames),
#undef F
};

static const struct record_field defer_fields[] = {
#define F(m) NUM(frt_defer, m)
	F(level), F(instance), F(task), F(n), TIME(frt_defer, t_queue), TIME(frt_defer, t_start),
	TIME(frt_defer, t_end), F(wait_ns), F(share_ppm), F(run), TEXT(frt_defer, function),
#undef F
};

static const struct record_field rate_fields[] = {
#define F(m) NUM(frt_raterow, m)
	F(from), F(to), F(streams), ONE_OF(frt_raterow, mode, FRT_WORKMODES), F(sampled), F(n),
	F(elapsed_ns), F(add_ns), F(exec_ns), F(sysctl_ns), F(veth_ns), F(gap_ns),
	F(wall_sq_us2), F(wall_lag_us2), F(wall_ends_us), F(level), F(run), F(failed),
#undef F
};

/* t_ns is an elapsed time, not a moment. */
static const struct record_field point_fields[] = {
#define F(m) NUM(frt_ratepoint, m)
	F(streams), F(reached), F(t_ns), F(count), ONE_OF(frt_ratepoint, mode, FRT_WORKMODES), F(run),
	F(stalled),
#undef F
};

static const struct record_field lock_fields[] = {
#define F(m) NUM(frt_lock, m)
	TAG(frt_lock), F(flags), TIME(frt_lock, t0), TIME(frt_lock, t1), F(addr),
	TIME(frt_lock, t_owner), F(owner),
	F(owner_instance), F(owner_tid), ONE_OF(frt_lock, owner_kind, FRT_OWNER_KINDS), F(stack),
	TEXT(frt_lock, owner_comm), TEXT(frt_lock, name),
#undef F
};

static const struct record_field nscount_fields[] = {
#define F(m) NUM(frt_nscount, m)
	F(level), F(deleting), TIME(frt_nscount, t), F(existing), F(expected),
#undef F
};

#define TYPE(rec, s, member, text) \
	[rec] = { #member, text, member##_fields, ARRAY_SIZE(member##_fields), \
		  sizeof(struct s), offsetof(struct frt_trail, member) }

const struct record_type record_types[FRT_RECS] = {
	TYPE(FRT_REC_LEVEL, frt_level, level, "a level, at its end"),
	TYPE(FRT_REC_ROUTER, frt_router, router, "one run of the creation steps"),
	TYPE(FRT_REC_STEP, frt_stepinst, step, "one command (or labelled phase)"),
	TYPE(FRT_REC_PROC, frt_proc, proc, "a followed task's birth"),
	TYPE(FRT_REC_EXEC, frt_exec, exec, "a new image; args joined by U+001F"),
	TYPE(FRT_REC_DEAD, frt_dead, dead, "a followed task's end"),
	TYPE(FRT_REC_CALL, frt_call, call, "a system call: decoded, slept or slow"),
	TYPE(FRT_REC_OFF, frt_off, off, "a time off the CPU"),
	TYPE(FRT_REC_NODE, frt_node, node, "a frame of a stack below its caller"),
	TYPE(FRT_REC_SAMPLE, frt_sample, sample, "a sampled kernel stack"),
	TYPE(FRT_REC_FUNC, frt_func, func, "a probed function within one call"),
	TYPE(FRT_REC_LOSS, frt_loss, loss, "what was lost since the level before"),
	TYPE(FRT_REC_OUTSIDE, frt_outside, outside, "CPU time of tasks outside the workload"),
	TYPE(FRT_REC_DEFER, frt_defer, defer, "kernel work caused by a step, done later"),
	TYPE(FRT_REC_RATE, frt_raterow, rate, "a row of frtrace rate"),
	TYPE(FRT_REC_POINT, frt_ratepoint, point, "a reading of frtrace rate --streams"),
	TYPE(FRT_REC_LOCK, frt_lock, lock, "a contended lock"),
	TYPE(FRT_REC_NSCOUNT, frt_nscount, nscount, "network namespaces, counted meanwhile"),
};
/* clang-format on */

#define DESCRIBE_WIDTH 98

void record__describe(FILE *f)
{
	static const char *const names[] = {
		[FIELD_U32] = "u32",
		[FIELD_I32] = "i32",
		[FIELD_U64] = "u64",
		[FIELD_I64] = "i64",
		[FIELD_TIME] = "time",
		[FIELD_TEXT] = "text",
		[FIELD_TEXT_OR_NULL] = "text or null",
	};

	for (unsigned i = 0; i < FRT_RECS; i++) {
		const struct record_type *t = &record_types[i];

		int column = DESCRIBE_WIDTH;

		fprintf(f, "- `%s`: %s", t->name, t->what);
		for (uint32_t k = 0; k < t->nfields; k++) {
			const struct record_field *field = &t->fields[k];
			int width = snprintf(NULL, 0, " %s %s,", field->name, names[field->type]);

			if (column + width > DESCRIBE_WIDTH)
				column = fprintf(f, "\n ") - 1;
			column += fprintf(f, " %s %s%s", field->name, names[field->type],
					  k + 1 < t->nfields ? "," : "");
		}
		fputc('\n', f);
	}
}
