#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# control_groups.sh BUILD_DIR: shows in a virtual machine that tools are limited in, and ended by, their
# control groups. It has a kernel of its own, so it does not matter how this machine divides its
# resources, and nobody needs to be root.
#
# NARRATORIA_KERNEL   the kernel to boot (a bzImage that this user can read); otherwise the newest of
#                     /boot. It needs the controllers pids and memory, tmpfs, and a serial console.
# Needs qemu-system-x86_64, a static busybox and cpio. Exit status 77, with the reason, when something
# of this is not here; otherwise 0 or 1, and the last line says "N passed, N failed".
set -u
tree=$(cd "$(dirname "$0")/../.." && pwd) || exit 2
build=$(cd "${1:?usage: control_groups.sh BUILD_DIR}" && pwd) || exit 2
seconds=${NARRATORIA_MACHINE_SECONDS:-300}

missing() {
    echo "$*"
    exit 77
}
[ "$(uname -m)" = x86_64 ] || missing "the virtual machine is for x86-64 alone"
for program in qemu-system-x86_64 busybox cpio; do
    command -v "$program" >/dev/null ||
        missing "$program is not here (Debian: apt-get install qemu-system-x86 busybox-static cpio)"
done
kernel=${NARRATORIA_KERNEL:-}
if [ -z "$kernel" ]; then
    for each in $(ls -v /boot/vmlinuz-* 2>/dev/null); do [ -r "$each" ] && kernel=$each; done
fi
[ -n "$kernel" ] && [ -r "$kernel" ] ||
    missing "no kernel to boot: none in /boot can be read; name one in NARRATORIA_KERNEL"
[ -x "$build/bin/narratoria" ] || { echo "$build/bin/narratoria is not built" >&2; exit 2; }

work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
root=$work/root
mkdir -p "$root"/{bin,lib,proc,sys,dev,tmp,etc,hostile} || exit 2
cp "$(command -v busybox)" "$root/bin/busybox" || exit 2
cp "$build/bin/narratoria" "$root/bin/" || exit 2
tools=(allocates daemonizes fork_chain ignores_sigterm many_children reporter)
for tool in "${tools[@]}"; do
    cp "$build/tests/hostile/$tool" "$root/hostile/" ||
        { echo "build the target narratoria_hostile_tools first" >&2; exit 2; }
done
# The libraries by their names, all in one folder; the loader at the place that programs name.
ldd "$build/bin/narratoria" "${tools[@]/#/$build/tests/hostile/}" | awk '
    / => \// { print $1, $3 } /^[ \t]*\/.*ld-linux/ { print "loader", $1 }' | sort -u |
    while read -r name file; do
        if [ "$name" = loader ]; then
            mkdir -p "$root$(dirname "$file")" && cp -L "$file" "$root$file"
        else
            cp -L "$file" "$root/lib/$name"
        fi
    done
cp "$tree/tests/machine/control_groups_guest.sh" "$root/init" && chmod 755 "$root/init" || exit 2
chmod 755 "$root" && chmod 1777 "$root/tmp"
(cd "$root" && find . | cpio --quiet -o -H newc -R 0:0 | gzip -1 >"$work/initramfs") || exit 2

# By software alone: that works the same everywhere, also in a virtual machine. Without cmpxchg16b,
# which qemu 7.2 gets wrong: kernels from 6.6 on crash of it.
timeout "$seconds" qemu-system-x86_64 -M q35 -accel tcg -cpu max,cx16=off -smp 2 -m 768 \
    -nodefaults -no-user-config -display none -serial stdio -no-reboot \
    -kernel "$kernel" -initrd "$work/initramfs" \
    -append "console=ttyS0 quiet loglevel=3 panic=-1 mitigations=off swiotlb=noforce" \
    </dev/null 2>"$work/complaints" | tr -d '\r' | tee "$work/console" |
    grep --line-buffered -E '^ *(ok|FAILED|\|) |^[0-9]+ passed, [0-9]+ failed$'
last=$(grep -E '^[0-9]+ passed, [0-9]+ failed$' "$work/console" | tail -n 1)
if [ -z "$last" ]; then
    echo "the machine did not come to its end (it has $seconds s); the end of its console:"
    tail -n 40 "$work/console"
    cat "$work/complaints"
    exit 1
fi
case $last in
    "0 passed"*) exit 1 ;;
    *", 0 failed") exit 0 ;;
esac
exit 1
