/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Style sheets and scripts are files of their own kind, wrapped in FRT_ASSET( ),
 * and become string constants by
 *
 *	static const char script[] =
 *	#include "report/flame.js"
 *		;
 *
 * The preprocessor drops their comments and folds white space, so statements end
 * in semicolons, no line begins with "#", and backslashes and apostrophes stand
 * only inside "strings".
 */
#ifndef FRTRACE_REPORT_ASSET_H
#define FRTRACE_REPORT_ASSET_H

#define FRT_ASSET(...) #__VA_ARGS__

#endif
