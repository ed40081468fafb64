#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# image.sh RUNTIME NAME TOOLS: makes an image of this system's Python, the runner of this checkout and the
# modules in the folder TOOLS, without a registry: the files are packed into a tar and imported.
set -eu
runtime=$1 name=$2 tools=$3
tree=$(cd "$(dirname "$0")/../.." && pwd)
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT

python=$(readlink -f /usr/bin/python3)
library=/usr/lib/$(basename "$python")
mkdir -p "$root"/{usr/bin,usr/lib,tmp,proc,dev,etc,opt/namel3ss_tools,opt/tools}
cp "$python" "$root/usr/bin/python"
cp -a "$library" "$root/usr/lib/"
rm -rf "$root$library"/test "$root$library"/*/__pycache__
{ ldd "$python"; ldd "$library"/lib-dynload/*.so; } 2>/dev/null |
    grep -o '/[^ ]*\.so[^ ]*' | sort -u | while read -r each; do
    case $each in */lib-dynload/*) continue ;; esac
    mkdir -p "$root$(dirname "$each")"
    cp -L "$each" "$root$each"
done
cp "$tree/runtime/tool/project/runner/python/narratoria_runner.py" "$root/opt/"
cp "$tree/runtime/tool/project/runner/python/narratoria_runner.py" "$root/opt/namel3ss_tools/runner.py"
touch "$root/opt/namel3ss_tools/__init__.py"
cp "$tools"/*.py "$root/opt/tools/"
tar --create --directory "$root" . | "$runtime" import --change 'ENV PYTHONPATH=/opt' - "$name"
