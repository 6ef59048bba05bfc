# bash completion for frtrace                              -*- shell-script -*-
# SPDX-License-Identifier: BSD-2-Clause
_frtrace()
{
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} sub=profile i
	local subs="profile rate run attach report compare export doctor clean"

	for ((i = 1; i < COMP_CWORD; i++)); do
		case " $subs " in
		*" ${COMP_WORDS[i]} "*) sub=${COMP_WORDS[i]} && break ;;
		esac
	done
	case $prev in
	--mode) COMPREPLY=($(compgen -W "script exact lean batch" -- "$cur")) && return ;;
	--fill) COMPREPLY=($(compgen -W "lean exact script" -- "$cur")) && return ;;
	--probes) COMPREPLY=($(compgen -W "auto none fentry multi kprobe" -- "$cur")) && return ;;
	--by) COMPREPLY=($(compgen -W "auto command action" -- "$cur")) && return ;;
	--view) COMPREPLY=($(compgen -W "steps actions functions growth waits deferred environment" -- "$cur")) && return ;;
	--format) COMPREPLY=($(compgen -W "folded svg html speedscope pprof trace csv csv-steps" -- "$cur")) && return ;;
	--kind) COMPREPLY=($(compgen -W "cpu off wall functions rate" -- "$cur")) && return ;;
	-o | --ip | --csv | --report | --cgroup) COMPREPLY=($(compgen -f -- "$cur")) && return ;;
	esac
	if [[ $cur == -* ]]; then
		COMPREPLY=($(compgen -W "$(frtrace "$sub" --help 2>/dev/null | grep -oE -- '--[a-z][a-z-]*' | sort -u)" -- "$cur"))
	elif ((COMP_CWORD == 1)); then
		COMPREPLY=($(compgen -W "$subs" -- "$cur"))
	else
		COMPREPLY=($(compgen -f -- "$cur"))
	fi
}
complete -F _frtrace frtrace
