#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# image.sh RUNTIME NAME: makes an image of this system's Python and the runner of this checkout, without
# a registry: the files are packed into a tar and imported.
set -eu
runtime=$1 name=$2
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
cp "$tree/runtime/tool/runner/python/narratoria_runner.py" "$root/opt/namel3ss_tools/runner.py"
touch "$root/opt/namel3ss_tools/__init__.py"
cat >"$root/opt/tools/sample.py" <<'PYTHON'
import os
import time


def greet(payload):
    print("greeting", flush=True)
    return {"message": "Hello " + payload["name"]}


def wait(payload):
    print("waiting", flush=True)
    time.sleep(600)


def interfaces(payload):
    return sorted(os.listdir("/sys/class/net"))


def write(payload):
    open("/opt/written", "w").close()


def mood(payload):
    return [os.environ.get("MOOD"), os.environ.get("OTHER")]


def leave(payload):
    os._exit(3)
PYTHON
tar --create --directory "$root" . | "$runtime" import --change 'ENV PYTHONPATH=/opt' - "$name"
