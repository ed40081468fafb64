#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# fresh_debian.sh root|sudo: ./play and ./test of the README in a Debian 12 that has git and nothing
# else, as root or as a user who has sudo. Needs root, debootstrap and the network; 77: not here.
# The last line but one is that of ./test. NARRATORIA_DEBIAN names a folder that keeps the bare system.
set -eu
who=${1:?root or sudo}
tree=$(cd "$(dirname "$0")/../.." && pwd)
[ "$(id -u)" = 0 ] || { echo "it needs root, for chroot"; exit 77; }
command -v debootstrap >/dev/null || { echo "debootstrap is not installed"; exit 77; }

# In namespaces of its own: at the end no mount and no process is left. The folder is removed outside of
# them, where the machine's /dev and /sys are not mounted in it.
if [ -z "${NARRATORIA_INSIDE:-}" ]; then
    work=$(mktemp -d)
    trap 'rm -rf --one-file-system "$work"' EXIT
    NARRATORIA_INSIDE=$work unshare --mount --pid --fork --kill-child "$0" "$@"
    exit
fi
mount --make-rprivate /
work=$NARRATORIA_INSIDE
bare=${NARRATORIA_DEBIAN:-$work/bare}
[ -e "$bare/usr/bin/git" ] ||
    debootstrap --variant=minbase --include=git,ca-certificates,sudo bookworm "$bare" \
        http://deb.debian.org/debian >"$work/log" 2>&1 || { tail -n 20 "$work/log"; exit 1; }
system=$work/system
cp -a "$bare" "$system"
cp /etc/resolv.conf "$system/etc/resolv.conf"
echo '127.0.0.1 localhost' >"$system/etc/hosts"
mount -t proc proc "$system/proc"
mount --rbind /sys "$system/sys"
mount --rbind /dev "$system/dev"
useradd --root "$system" --create-home player
echo 'player ALL=(ALL) NOPASSWD: ALL' >"$system/etc/sudoers.d/player"
git clone --quiet "$tree" "$system/home/player/narratoria"
run=(su - player)
if [ "$who" = root ]; then run=(su -); else chroot "$system" chown -R player: /home/player; fi
for command in ./play ./test; do
    begin=$SECONDS
    chroot "$system" "${run[@]}" -c "cd /home/player/narratoria && $command" || exit 1
    echo "$command as $who: $((SECONDS - begin)) s"
done
