#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# kernels: 5.10 6.1 6.12 newest
# vm: --exact-time
# vm newest: --cpus 2
#
# Every rung this kernel offers, on the same work: what is attached is what is written here,
# each function was called as often as the kernel's code says, on every rung alike, the walls
# add up and nothing is lost. A rung the kernel lacks is refused, with the option it lacks.
set -euo pipefail

bad=0
fail() {
	echo "FAIL: $*"
	bad=1
}
# shellcheck disable=SC2153
kernel=$FRT_VM

# The list that names what undoes a namespace is among the symbols where data is.
listed=$(awk '$3 == "pernet_list" { print $1; exit }' /proc/kallsyms)
[[ $kernel != 6.12 && $kernel != newest ]] || [ -n "$listed" ] || fail "pernet_list is not among the symbols"

# What is not there to be probed, by rung. Of the newest kernel it changes as the kernel does: for
# another version than this list was made on a difference is told, not judged.
judged=1
[ "$kernel" != newest ] || [[ $(uname -r) == 7.2.* ]] || judged=''
missing() {
	case $1 in
	none | untraced) return ;;
	esac
	# Inlined; without a place for a probe.
	printf '%s\n' preinit_net do_loopback kobject_uevent_env
	# How a namespace's operations are undone: one after another, or all in one function.
	case $kernel in
	5.10 | 6.1) echo ops_undo_list ;;
	*) echo ops_exit_list ;;
	esac
	case $kernel:$1 in
	# do_exit does not return; modules have BTF from 5.11 on; a name with a suffix has none.
	5.10:fentry) printf '%s\n' do_exit veth_newlink ;;
	# What undoes a subsystem's part has rows of its own; this one cannot be probed.
	*:multi) [ -z "$listed" ] || echo 'ops_exit_list[uevent_net_exit]' ;;
	newest:fentry) printf '%s\n' do_exit attach_recursive_mnt ;;
	*:fentry) echo do_exit ;;
	esac
}

# Calls per action. create_new_namespaces copies every kind of namespace for every flag, so
# copy_mnt_ns and copy_net_ns are called where nothing is to copy; a peer is a second device;
# leaving a mount namespace, and detaching from one, waits for a grace period.
# shellcheck disable=SC2034
expect='add|unshare(NEWNET)|unshare_nsproxy_namespaces|1
add|unshare(NEWNET)|create_new_namespaces|1
add|unshare(NEWNET)|copy_net_ns|1
add|unshare(NEWNET)|copy_mnt_ns (no NEWNS)|1
add|unshare(NEWNET)|setup_net|1
add|unshare(NEWNET)|loopback_net_init|1
add|unshare(NEWNET)|register_netdevice|1
add|unshare(NEWNET)|netdev_register_kobject|1
add|unshare(NEWNET)|inetdev_init|1
add|unshare(NEWNET)|ipv6_add_dev|1
add|unshare(NEWNET)|switch_task_namespaces|1
add|setns(NEWNET)|create_new_namespaces (only to enter)|1
add|setns(NEWNET)|copy_mnt_ns (no NEWNS)|1
add|setns(NEWNET)|copy_net_ns (no NEWNET)|1
add|setns(NEWNET)|switch_task_namespaces|1
add|mount(bind nsfs)|attach_recursive_mnt|1
add|mount(bind nsfs)|path_mount|1
exec|setns(NEWNET)|create_new_namespaces (only to enter)|1
exec|setns(NEWNET)|copy_mnt_ns (no NEWNS)|1
exec|unshare(NEWNS)|create_new_namespaces|1
exec|unshare(NEWNS)|copy_mnt_ns|1
exec|unshare(NEWNS)|copy_net_ns (no NEWNET)|1
exec|unshare(NEWNS)|copy_tree|1
exec|umount2(/sys)|path_umount|1
exec|umount2(/sys)|umount_tree|1
exec|umount2(/sys)|synchronize_rcu_expedited|1
exec|mount(sysfs)|vfs_get_tree|1
exec|mount(sysfs)|attach_recursive_mnt|1
exec|exit|exit_task_namespaces|1
exec|exit|put_mnt_ns|1
exec|exit|umount_tree|1
exec|exit|synchronize_rcu_expedited|1
exec|exit|do_exit|1
sysctl|unshare(NEWNS)|copy_mnt_ns|1
sysctl|unshare(NEWNS)|copy_tree|1
sysctl|exit|umount_tree|1
veth|rtnl newlink veth|rtnetlink_rcv_msg|1
veth|rtnl newlink veth|rtnl_newlink|1
veth|rtnl newlink veth|veth_newlink|1
veth|rtnl newlink veth|rtnl_create_link|2
veth|rtnl newlink veth|register_netdevice|2
veth|rtnl newlink veth|netdev_register_kobject|2
veth|rtnl newlink veth|inetdev_init|2
veth|rtnl newlink veth|ipv6_add_dev|2
veth|rtnl newlink veth|rtnl_configure_link|2
veth|rtnl newlink veth|rtmsg_ifinfo|2
veth|exit|exit_task_namespaces|1
delete|umount2|path_umount|1
delete|umount2|umount_tree|1
delete|umount2|synchronize_rcu_expedited|1'

# STEP|ACTION|FUNCTION|calls per action, of both levels; functions of retried work (a page's fault,
# a lock's second try, a path that is still cached) are as often as it happens, and not among them.
cat >/tmp/calls.jq <<'END'
def rows: {f: .function, n}, (.children[]? | rows);
[.levels[] | select(.again | not) | .steps[] | .step as $s | .actions[]? | .action as $a | .n as $c |
	[.functions[]? | rows] | group_by(.f)[] | {k: "\($s)|\($a)|\(.[0].f)", n: (map(.n) | add), c: $c}] |
	group_by(.k)[] | "\(.[0].k)|\((map(.n) | add) / (map(.c) | add))"
END
# A parent lasts longer than its children, a function no longer than all calls it was in.
cat >/tmp/nested.jq <<'END'
def deep: (.total_ns >= ([.children[]?.total_ns] | add // 0) - 1000) and all(.children[]?; deep);
all(.levels[].steps[].actions[]?; .functions as $f | all($f[]?; deep))
END
# Design: the four kinds are the wall.
cat >/tmp/walls.jq <<'END'
all(.levels[].steps[] | select(.n > 0 and .unaccounted_ns != null);
	((.user_ns + .kernel_ns + .blocked_ns + .runqueue_ns + .unaccounted_ns - .wall_ns.mean) / .wall_ns.mean | fabs) < 0.001 and
	.unaccounted_ns / .wall_ns.mean < 0.01)
END

# The freeing of namespaces is the deletions', not a step's: one cleanup_net per run, no longer
# than the worker was at it. Each subsystem is undone once a run by ops_exit_list, where there is
# one; elsewhere multi has each function it and its like call: once a namespace (as often as the
# last thing cleanup_net does for each, key_remove_domain), those for a batch once a run (of which
# mptcp's pm_nl_exit_net is not called so).
cat >/tmp/later.jq <<'END'
def named: [.. | objects | select(.function? // "" | test("^ops_(pre_|)exit(_rtnl|)_list\\[")) | {f: .function, n}] |
	group_by(.f) | map({f: .[0].f, n: (map(.n) | add)});
[.deferred[] | select(.step == "delete" and .function == "cleanup_net")] |
if length != 1 then "no cleanup_net of deletions" else .[0] |
	if [.functions[].function] != ["cleanup_net"] then "not one cleanup_net: \([.functions[].function])"
	elif .functions[0].n < 1 or .functions[0].n > .n then "\(.functions[0].n) runs for \(.n) namespaces"
	elif .functions[0].total_ns > .ns or .functions[0].total_ns < .ns / 2 then "\(.functions[0].total_ns) ns of \(.ns)"
	else .functions[0].n as $n | ([.. | objects | select(.function? == "key_remove_domain") | .n] | add) as $each |
		.functions | named |
		if length < $least then "only \(length) rows of what undoes a subsystem"
		else map(select(.n != if $each == null or (.f | test("batch|pm_nl_exit_net")) then $n else $each end)) |
			if . != [] then "not once a run of \($n) or namespace of \($each): \(.)" else empty end end
	end
end
END
# What a kernel of today frees, by any name of the four kinds.
undone='ops_pre_exit_list[netns_bpf_pernet_pre_exit] ops_exit_rtnl_list[nexthop_net_exit ops_exit_list[fib_net_exit]
ops_exit_list[tcp_sk_exit] ops_exit_list[tcp_sk_exit_batch] ops_exit_list[netdev_exit] ops_exit_list[proc_net_ns_exit]'

build/frtrace doctor --json >"$RESULTS/doctor.json" || fail "doctor: exit status $?"
has() {
	jq -e --arg f "$1" 'any(.features[]; .name == $f and .state == "yes")' "$RESULTS/doctor.json" >/dev/null
}
rungs='none fentry kprobe'
case $kernel in
5.10 | 6.1)
	has multi && fail "doctor finds kprobe.multi on $kernel"
	rc=0
	build/frtrace --at 0,5 --routers 1 --probes multi --quiet -o none >/dev/null 2>/tmp/err || rc=$?
	[ "$rc" = 3 ] || fail "--probes multi: exit status $rc, not 3"
	grep -q FPROBE /tmp/err || fail "--probes multi does not name CONFIG_FPROBE: $(cat /tmp/err)"
	[ -z "$(ip netns list)" ] || fail "--probes multi was refused after something was created"
	;;
*) rungs+=' multi' ;;
esac

for rung in $rungs; do
	json=$RESULTS/$rung.json
	rc=0
	more=()
	[ "$rung" != multi ] || more=(--probe key_remove_domain)
	[ "$rung" = none ] || has "$rung" || fail "doctor does not find $rung"
	build/frtrace --at 0,200 --routers 8 --settle 2 --probes "$rung" "${more[@]}" --quiet --json -o none >"$json" || rc=$?
	[ "$rc" = 0 ] || fail "$rung: exit status $rc"
	[ "$(jq -r .probes.backend "$json")" = "$rung" ] || fail "$rung: the backend is $(jq -r .probes.backend "$json")"
	lost=$(jq -c '.loss | with_entries(select(.value != 0))' "$json")
	case $kernel.$rung in
	newest.*)
		# From 7.0 on a task can be preempted in the middle of a program, and the kernel does not
		# run that one (of multi: any) on that CPU meanwhile: rare with one stream, and said. What is
		# missed is any task's, and more the more the guest's CPUs are taken from it.
		# Calls are not among them (by way of perf), so no half of one is alone.
		jq -e --arg rung "$rung" '(keys - ["missed", "unpaired"] == []) and (.missed // 0) <= 500 and
			(.unpaired // 0) <= if $rung | IN("none", "kprobe") then 0 else 8 end' <<<"$lost" >/dev/null ||
			fail "$rung: lost $lost"
		;;
	*) [ "$lost" = '{}' ] || fail "$rung: lost $lost" ;;
	esac
	jq -e -f /tmp/walls.jq "$json" >/dev/null || fail "$rung: walls do not add up"
	jq -e 'all(.levels[]; .routers == 8)' "$json" >/dev/null || fail "$rung: not 8 routers a level"
	[ -z "$(ip netns list)" ] || fail "$rung: namespaces are left"
	[ "$rung" = none ] && continue

	jq -r '.probes.missing[].function' "$json" | sort >/tmp/missing
	if ! diff <(missing "$rung" | sort) /tmp/missing; then
		if [ -n "$judged" ]; then
			fail "$rung: something else is missing (> not listed here, < listed)"
		else
			echo "$rung on $(uname -r), which the list was not made on: as above"
		fi
	fi
	jq -e -f /tmp/nested.jq "$json" >/dev/null || fail "$rung: children last longer than their parent"
	jq -r -f /tmp/calls.jq "$json" | sort >"$RESULTS/$rung.calls"
	while IFS='|' read -r step action function n; do
		grep -qx "$function" /tmp/missing && continue
		got=$(awk -F'|' -v s="$step" -v a="$action" -v f="$function" '$1 == s && $2 == a && $3 == f { print $4 }' \
			"$RESULTS/$rung.calls")
		[ "$got" = "$n" ] || fail "$rung: $step, $action: $function was called ${got:-0} times per call, not $n"
	done <<<"$expect"
	least=0
	! grep -qx ops_undo_list /tmp/missing || least=30
	undoes=''
	[ "$rung" != multi ] || [ -z "$listed" ] || undoes=1
	[ -z "$undoes" ] || least=60
	[ -n "$undoes" ] || [ "$least" = 30 ] ||
		jq -e '.probes.missing[] | select(.function == "ops_exit_list") | .reason | contains("multi") or contains("pernet_list")' \
			"$json" >/dev/null || fail "$rung: nothing says why subsystems are not told"
	later=$(jq -r --argjson least "$least" -f /tmp/later.jq "$json")
	[ -z "$later" ] || fail "$rung: $later"
	for row in $([ -z "$undoes" ] || echo "$undone"); do
		jq -e --arg row "$row" 'any(.deferred[].functions | .. | objects; .function? // "" | startswith($row))' "$json" >/dev/null ||
			fail "$rung: no row $row"
	done
	# One row a subsystem, each once a namespace; those without an init function share one.
	grep -F 'add|unshare(NEWNET)|ops_init[' "$RESULTS/$rung.calls" >/tmp/ops || true
	[ "$(wc -l </tmp/ops)" -ge 60 ] || fail "$rung: only $(wc -l </tmp/ops) subsystems under setup_net"
	! grep -vE '\|1$|ops_init\[no init\]' /tmp/ops || fail "$rung: a subsystem was initialised not once a namespace"
	echo "$rung: $(jq -c '.probes | [.attached, .wanted]' "$json"), $(wc -l <"$RESULTS/$rung.calls") rows, $(wc -l </tmp/ops) subsystems"
done

# The same subsystems, whoever looked.
for rung in $rungs; do
	[ "$rung" = none ] || [ "$rung" = kprobe ] ||
		diff <(grep -F 'ops_init[' "$RESULTS/kprobe.calls") <(grep -F 'ops_init[' "$RESULTS/$rung.calls") ||
		fail "kprobe (<) and $rung (>) see different subsystems"
done
exit "$bad"
