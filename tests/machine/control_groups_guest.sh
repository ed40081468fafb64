#!/bin/busybox sh
# SPDX-License-Identifier: Apache-2.0
# The first process of the machine that control_groups.sh boots. The command runs as an ordinary
# user, in its own group next to the folder that it was given, as a service would.

/bin/busybox --install -s /bin
export PATH=/bin LD_LIBRARY_PATH=/lib HOME=/tmp
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
mount -t tmpfs -o mode=1777 tmpfs /tmp
mount -t cgroup2 cgroup2 /sys/fs/cgroup
echo 'root:x:0:0::/:/bin/sh
player:x:1000:1000::/tmp:/bin/sh' >/etc/passwd
cd /tmp || exit 1

groups=/sys/fs/cgroup
echo '+pids +memory' >$groups/cgroup.subtree_control
mkdir $groups/ours
echo '+pids +memory' >$groups/ours/cgroup.subtree_control
mkdir $groups/ours/host $groups/ours/tools $groups/ours/full
for folder in ours ours/host ours/tools ours/full; do
    chown 1000:1000 $groups/$folder $groups/$folder/cgroup.procs $groups/$folder/cgroup.subtree_control
done
tools=$groups/ours/tools

passed=0 failed=0
ok() {
    passed=$((passed + 1))
    echo " ok     $1"
}
failure() {
    failed=$((failed + 1))
    echo " FAILED $1"
    sed 's/^/ | /' /tmp/out /tmp/err 2>/dev/null | tail -n 30
}
# check NAME COMMAND…: passes if the command succeeds.
check() {
    name=$1
    shift
    if "$@"; then ok "$name"; else failure "$name"; fi
}
# As the player, in ours/host; output in /tmp/out and /tmp/err, exit status in $status.
as_player() {
    (
        echo 0 >$groups/ours/host/cgroup.procs
        exec su player -c "LD_LIBRARY_PATH=/lib exec $*"
    ) >/tmp/out 2>/tmp/err </dev/null
    status=$?
}
# plan NAME TOOL INPUT: a plan of one tool that is tried once.
plan() {
    echo '{"requestId":"r","tools":[{"toolId":"tool","toolPath":"'"$2"'","input":'"$3"',"retryPolicy":{"maxRetries":0}}]}' >"/tmp/$1.json"
}
# script NAME: a tool from standard input.
script() {
    { echo '#!/bin/sh' && cat; } >"/tmp/$1"
    chmod 755 "/tmp/$1"
}
# run NAME [OPTION…]
run() {
    plan_name=$1
    shift
    as_player narratoria run "/tmp/$plan_name.json" --quiet --cgroup $tools "$@"
}
says() { grep -q -F -- "$1" /tmp/out; }
complains() { grep -q -F -- "$1" /tmp/err; }
succeeded() { [ "$status" = 0 ] && says '"success":true'; }
failed_with() { [ "$status" = 1 ] && says '"errorCode":"'"$1"'"' && says "$2"; }
refused_with() { [ "$status" = 2 ] && complains "$1" && complains "$2"; }
no_groups() { [ -z "$(find $tools -mindepth 1 -type d)" ]; }
nobody() { ! pidof "$@" >/dev/null; }
within() { # SECONDS COMMAND…
    rounds=$(($1 * 20))
    shift
    while [ $rounds -gt 0 ]; do
        "$@" && return 0
        usleep 50000
        rounds=$((rounds - 1))
    done
    "$@"
}
clean() { no_groups && nobody daemonizes fork_chain many_children allocates ignores_sigterm; }

# ---- normal runs

script where <<'END'
cat >/dev/null
own=/sys/fs/cgroup$(sed -n 's/^0:://p' /proc/self/cgroup)
for file in pids.max memory.max memory.swap.max memory.oom.group; do
    echo "$file=$(cat $own/$file 2>/dev/null) in ${own%/*}" >&2
done
echo '{"version":"0","type":"done","ok":true}'
END
plan where /tmp/where '{}'
run where
check "a plan without limits runs" succeeded
check "it runs in a group of the folder" says "in $tools"
check "that group has no limits" says 'pids.max= in'
check "the group is gone at the end" clean
run where --max-processes 20 --max-resident 67108864
check "a plan within its limits runs" succeeded
check "pids.max is set" says 'pids.max=20 in'
check "memory.max is set" says 'memory.max=67108864 in'
check "memory.oom.group is set" says 'memory.oom.group=1 in'
check "its group is gone at the end" clean
as_player narratoria tool run /tmp/where --cgroup $tools --max-processes 20
check "tool run takes the options" [ "$status" = 0 ]

# ---- processes

script bomb <<'END'
bomb() { bomb | bomb & bomb; }
cat >/dev/null
bomb
END
plan bomb /tmp/bomb '{}'
run bomb --max-processes 40
check "a fork bomb stops at its limit, and the error names it" failed_with PROCESS_LIMIT 'the tool reached its limit of 40 processes (processes)'
check "nothing of the fork bomb is left" within 1 nobody bomb
check "its group is gone as well" clean

plan many /hostile/many_children '{"count":200}'
run many --max-processes 50
check "a tool that reports a refused fork keeps its error, which also names the limit" \
    failed_with TOO_MANY_PROCESSES \
    'Resource temporarily unavailable (the tool reached its limit of 50 processes (processes) 1 time)'
check "it started no more than 49 children" says '"started":49,"error":"EAGAIN"'
run many --max-processes 300
check "200 children within the limit are fine" succeeded
check "the 200 are gone" clean

script goes-on <<'END'
cat >/dev/null
(for i in 1 2 3 4 5 6 7 8 9 10; do sleep 0.2 & done; wait) 2>/dev/null
sleep 1
echo '{"version":"0","type":"done","ok":true}'
END
plan goes-on /tmp/goes-on '{}'
as_player narratoria run /tmp/goes-on.json --cgroup $tools --max-processes 5
check "a tool that continues after a refused fork succeeds with a warning" succeeded
check "the warning names the limit" complains 'reached its limit of 5 processes (processes)'

script waits-for-ever <<'END'
cat >/dev/null
(while :; do sleep 1 & done) 2>/dev/null
while :; do sleep 1; done
END
plan waits-for-ever /tmp/waits-for-ever '{}'
run waits-for-ever --max-processes 10 --try-ms 3000 --grace-ms 100
check "a timeout also names the limit" failed_with TIMEOUT 'processes (processes)'
check "none of its processes is left" clean

# ---- memory

plan hog /hostile/allocates '{"most":0}'
run hog --max-resident 67108864
check "a memory hog is killed, and the error names the limit" \
    failed_with MEMORY_LIMIT 'more memory than its limit of 67108864 bytes (resident_bytes)'
check "it was SIGKILL" says '"signal":9'
check "nothing of the hog is left" clean

script hogs <<'END'
cat >/dev/null
for i in 1 2 3 4 5 6; do
    BAD_MOST=30000000 BAD_SOCKET= /hostile/allocates </dev/null >/dev/null &
    sleep 0.2
    dd if=/dev/zero of=/tmp/filled.$i bs=1M count=20 2>/dev/null
done
wait
echo '{"version":"0","type":"done","ok":true}'
END
plan hogs /tmp/hogs '{}'
run hogs --max-resident 67108864
check "the limit applies to the sum of all its processes and its files in memory" \
    failed_with MEMORY_LIMIT 'limit of 67108864 bytes'
run where --max-resident 33554432
check "memory that one tool leaves does not count for the next" succeeded
rm -f /tmp/filled.*
run where --max-resident 1048576
check "1 MiB does not harm the supervisor" sh -c '! grep -q SUPERVISOR_LOST /tmp/out'

mkdir $groups/ours/small
chown -R 1000:1000 $groups/ours/small
echo 60000000 >$groups/ours/small/memory.max
echo 0 >$groups/ours/small/memory.swap.max 2>/dev/null
as_player narratoria run /tmp/hog.json --quiet --cgroup $groups/ours/small --max-resident 200000000
check "exceeding a limit of a parent group is not reported as the tool's limit" \
    failed_with OUT_OF_MEMORY 'the kernel killed the tool because memory ran out'

# ---- processes that are left behind

plan daemon /hostile/daemonizes '{}'
run daemon
check "a tool that leaves a daemon completes" succeeded
check "the daemon is gone" clean

plan chain /hostile/fork_chain '{"own_session":true,"chains":20}'
run chain
check "a tool that leaves chains of forks completes" succeeded
check "the chains are gone" clean

script nests <<'END'
cat >/dev/null
own=/sys/fs/cgroup$(sed -n 's/^0:://p' /proc/self/cgroup)
mkdir -p $own/inner/most $own/other
(setsid sh -c "echo 0 >$own/inner/most/cgroup.procs; exec sleep 1000" >/dev/null 2>&1 &)
usleep 300000
[ -n "$(cat $own/inner/most/cgroup.procs)" ] || exit 9
echo '{"version":"0","type":"done","ok":true}'
END
plan nests /tmp/nests '{}'
run nests
check "a tool may create its own groups" succeeded
check "they are removed with its group" clean

# ---- sudden ends

script kills-supervisor <<'END'
cat >/dev/null
BAD_STAY=false /hostile/daemonizes </dev/null >/dev/null
kill -9 $PPID
sleep 1000
END
plan kills-supervisor /tmp/kills-supervisor '{}'
run kills-supervisor
check "a tool that kills its supervisor fails with SUPERVISOR_LOST" failed_with SUPERVISOR_LOST ''
check "its remaining processes are ended anyway" clean

script stays <<'END'
cat >/dev/null
/hostile/daemonizes </dev/null >/dev/null
trap '' TERM
touch /tmp/is-there
while :; do sleep 1; done
END
plan stays /tmp/stays '{}'
as_player narratoria run /tmp/stays.json --quiet --cgroup $tools &
check "a tool with a daemon runs" within 20 test -e /tmp/is-there
check "its group exists" sh -c "ls -d $tools/*/ >/dev/null"
kill -9 $(pidof narratoria)
check "group and daemon are gone within a second after the host is killed" within 1 clean
check "the tool is gone as well" nobody stays
wait

# ---- a folder that cannot be used

as_player narratoria run /tmp/where.json --cgroup $groups/ours/nowhere
check "refused: a missing folder" refused_with "$groups/ours/nowhere" 'No such file or directory; create it'
as_player narratoria run /tmp/where.json --cgroup /tmp
check "refused: a folder outside cgroup2" refused_with '"/tmp" is not a cgroup2 folder' 'cgroup2'
mkdir $groups/ours/full/inner
echo 0 >$groups/ours/full/cgroup.procs
chown 1000 $groups/ours/full/inner
as_player narratoria run /tmp/where.json --cgroup $groups/ours/full --max-processes 9
check "refused: a group that contains processes" refused_with "\"$groups/ours/full\" cannot have groups with limits" 'move them into a group below it'
echo 0 >$groups/cgroup.procs
mkdir -p $tools/deep/er
chown -R 1000 $tools/deep
as_player narratoria run /tmp/where.json --cgroup $tools/deep/er --max-resident 2000000
check "refused: a group without the controllers" refused_with 'does not list memory' 'cgroup.subtree_control of the folder above'
as_player narratoria run /tmp/where.json --cgroup $tools/deep/er
check "without limits, no controllers are needed" succeeded
rmdir $tools/deep/er $tools/deep
mkdir $groups/roots
as_player narratoria run /tmp/where.json --cgroup $groups/roots --max-processes 9
check "refused: a group of another user" refused_with "$groups/roots" 'must belong to the user'
su player -c "LD_LIBRARY_PATH=/lib narratoria run /tmp/where.json --cgroup $tools" >/tmp/out 2>/tmp/err
status=$?
check "refused: the host is in an unrelated group" refused_with 'cannot move a process into a group' 'cgroup.procs of the lowest folder above both'
check "refused runs leave nothing behind" clean

echo
echo "$passed passed, $failed failed"
sync
poweroff -f
