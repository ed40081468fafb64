# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Sourced by ./play and ./test: installs missing packages that the build needs. It tests each dependency
# by using it, not by asking the package database, so that a compiler or a library from other sources is
# accepted. It installs only missing packages, and prints their names before.

probe_command() { command -v "$1" >/dev/null 2>&1; }

probe_header() {
    printf '#if !__has_include(<%s>)\n#error missing\n#endif\n' "$1" |
        c++ -std=c++20 -x c++ -E - >/dev/null 2>&1
}

probe_cmake() {
    local version
    version=$(cmake --version 2>/dev/null | sed -n '1s/.* \([0-9][0-9.]*\).*/\1/p')
    [ -n "$version" ] && [ "$(printf '%s\n3.25\n' "$version" | sort -V | head -n 1)" = 3.25 ]
}

# A static program must be linkable too: the supervisor is one.
probe_compiler() {
    command -v cc >/dev/null 2>&1 &&
        echo 'int main() { return 0; }' | c++ -std=c++20 -static -x c++ - -o /dev/null 2>/dev/null
}

# The first Python that has the modules of the tests and the headers for building the package. The
# user's own interpreter (pyenv, a virtual environment) is used if it has them, else the system's.
test_python() {
    local candidate
    for candidate in python3 /usr/bin/python3; do
        if "$candidate" -c 'if True:
            import os, sysconfig
            import hypothesis, jsonschema, pytest, tomllib, typing_extensions, xdist
            jsonschema.Draft202012Validator
            os.stat(os.path.join(sysconfig.get_path("include"), "Python.h"))' \
            >/dev/null 2>&1; then
            command -v "$candidate"
            return 0
        fi
    done
    return 1
}

# pybind11, as a module of that Python or as the system's package.
probe_pybind11() {
    local python
    python=$(test_python) && "$python" -m pybind11 --cmakedir >/dev/null 2>&1 ||
        compgen -G '/usr/*/cmake/pybind11/pybind11Config.cmake' >/dev/null ||
        compgen -G '/usr/local/*/cmake/pybind11/pybind11Config.cmake' >/dev/null
}

probe_venv() {
    local python
    python=$(test_python) && "$python" -c 'import ensurepip, venv'
}

probe_fuzzer_library() {
    local folder
    folder=$(clang-14 --print-resource-dir 2>/dev/null) &&
        compgen -G "$folder/lib/*/libclang_rt.fuzzer*.a" >/dev/null
}

# The order matters: the compiler comes before the entries that are probed with it.
packages_to_play() {
    cat <<'LIST'
cmake               probe_cmake
ninja-build         probe_command ninja
g++                 probe_compiler
pkg-config          probe_command pkg-config
libuv1-dev          probe_header uv.h
rapidjson-dev       probe_header rapidjson/schema.h
libfmt-dev          probe_header fmt/format.h
libtomlplusplus-dev probe_header toml++/toml.h
libcurl4-openssl-dev probe_header curl/curl.h
libsqlite3-dev      probe_header sqlite3.h
liblz4-dev          probe_header lz4.h
libyaml-dev         probe_header yaml.h
libcli11-dev        probe_header CLI/CLI.hpp
libmicrohttpd-dev   probe_header microhttpd.h
libseccomp-dev      probe_header seccomp.h
libedit-dev         pkg-config --exists libedit
python3             probe_command python3
LIST
}

packages_to_test() {
    packages_to_play
    cat <<'LIST'
libgtest-dev        probe_header gtest/gtest.h
libgmock-dev        probe_header gmock/gmock.h
binutils            probe_command readelf
python3-dev         test_python
python3-pytest      test_python
python3-pytest-xdist test_python
python3-jsonschema  test_python
python3-hypothesis  test_python
python3-typing-extensions test_python
pybind11-dev        probe_pybind11
LIST
}

packages_for_clang() {
    packages_to_test
    cat <<'LIST'
clang-14            probe_command clang-14
clang-format-14     probe_command clang-format-14
clang-tidy-14       probe_command clang-tidy-14
libclang-rt-14-dev  probe_fuzzer_library
lld-14              probe_command ld.lld-14
LIST
}

packages_for_pypi() {
    packages_to_test
    cat <<'LIST'
python3-venv        probe_venv
LIST
}

packages_for_browser() {
    packages_for_pypi
    cat <<'LIST'
libchafa-dev        pkg-config --exists chafa
libgdk-pixbuf-2.0-dev pkg-config --exists gdk-pixbuf-2.0
chromium            chromium --version
fonts-dejavu-core   probe_font DejaVuSans
fonts-liberation    probe_font LiberationSans-Regular
LIST
}

packages_for_containers() {
    packages_to_test
    cat <<'LIST'
podman              probe_command podman
runc                probe_command runc
netavark            test -x /usr/lib/podman/netavark
iptables            probe_command iptables
LIST
}

packages_for_cluster() {
    packages_to_test
    cat <<'LIST'
slurmctld           test -x /usr/sbin/slurmctld
slurmd              test -x /usr/sbin/slurmd
slurm-client        probe_command srun
munge               test -x /usr/sbin/munged
time                test -x /usr/bin/time
LIST
}

packages_to_bootstrap() {
    cat <<'LIST'
debootstrap         probe_command debootstrap
LIST
}

# For CI, in addition to the packages of its stages: the tools of all checks, and ccache.
packages_for_ci() {
    packages_for_clang
    cat <<'LIST'
abigail-tools       probe_command abidiff
doxygen             probe_command doxygen
ccache              probe_command ccache
libbenchmark-dev    probe_header benchmark/benchmark.h
LIST
}

# The reference pictures of the page were taken with these fonts.
probe_font() { compgen -G "/usr/share/fonts/truetype/*/$1.ttf" >/dev/null; }

missing_of() {
    local package probe
    while read -r package probe; do
        $probe >/dev/null 2>&1 </dev/null || printf '%s\n' "$package"
    done < <("$1")
}

# install_missing LIST-FUNCTION: returns if all packages of the list are installed; otherwise prints the
# next step and exits.
install_missing() {
    local list=$1 missing as_root=()
    mapfile -t missing < <(missing_of "$list")
    if [ ${#missing[@]} -eq 0 ]; then
        echo "All required packages are installed."
        return 0
    fi
    if ! probe_command apt-get; then
        printf '%s\n' "These packages are missing (Debian's names): ${missing[*]}." \
            "There is no apt-get here: install them with your package manager and try again." >&2
        exit 1
    fi
    if [ "$(id -u)" -ne 0 ]; then
        if ! probe_command sudo; then
            printf '%s\n' "${missing[*]} must be installed, which needs root or sudo. As root:" \
                "    apt-get update && apt-get install ${missing[*]}" >&2
            exit 1
        fi
        as_root=(sudo)
    fi
    printf 'Installing with apt-get:\n'
    printf '    %s\n' "${missing[@]}"
    # After a failed update, the existing lists may be sufficient.
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get update -q </dev/null ||
        echo "apt-get update failed; trying with the existing lists." >&2
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
        apt-get install -y -q --no-install-recommends "${missing[@]}" </dev/null || {
        printf '%s\n' "apt-get could not install ${missing[*]}: its message is above." \
            "Debian 12 and Ubuntu 24.04 have all of them (Ubuntu: in “universe”)." >&2
        exit 1
    }
    hash -r
    mapfile -t missing < <(missing_of "$list")
    if [ ${#missing[@]} -ne 0 ]; then
        printf '%s\n' "Installed, but still not usable: ${missing[*]}." \
            "Is this an older system than Debian 12 or Ubuntu 24.04?" >&2
        exit 1
    fi
}
