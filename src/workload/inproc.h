/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The steps without a process. Each returns 0 or -errno; j->call and j->object
 * then say which call failed on what.
 */
#ifndef FRTRACE_WORKLOAD_INPROC_H
#define FRTRACE_WORKLOAD_INPROC_H

struct step_job;

int exact__add(struct step_job *j);
int exact__exec(struct step_job *j);
int exact__sysctl(struct step_job *j);
int exact__veth(struct step_job *j);
int exact__delete(struct step_job *j);

int lean__add(struct step_job *j);
int lean__exec(struct step_job *j);
int lean__sysctl(struct step_job *j);
int lean__veth(struct step_job *j);
int lean__delete(struct step_job *j);

/* Notes what failed; gives -errno. */
int inproc__failed(struct step_job *j, const char *call, const char *object);
/* Sets the error from what was noted. Returns rc. */
int inproc__report(struct step_job *j, int rc);

#endif
