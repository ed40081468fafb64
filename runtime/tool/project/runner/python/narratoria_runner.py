# SPDX-License-Identifier: Apache-2.0
"""Runs one Python tool: reads a request on standard input, writes a reply on standard output.

Protocol: specification 001. One file without dependencies for Python 3.8 and later, so that it can
also be the command of a container: ``python -m narratoria_runner``.

It also refuses acts that the guarantees forbid. This only makes good error messages: it does not
restrict native code. The kernel enforces the guarantees, see docs/guarantees.md.
"""

import _frozen_importlib_external
import _imp
import _signal
import atexit
import os
import stat
import sys
import time


LIBRARY = os.path.dirname(os.__file__)
# Folders of Python's library and of installed packages. A project may lie below sys.prefix, too.
PYTHONS = tuple(folder + os.sep for folder in [LIBRARY] + [
    folder for folder in sys.path
    if folder.startswith(tuple(prefix + os.sep for prefix in (sys.prefix, sys.base_prefix,
                                                              sys.exec_prefix)))
    and os.path.basename(folder) in ("site-packages", "dist-packages", "lib-dynload",
                                     "python%d%d.zip" % sys.version_info[:2])])


def is_pythons(path):
    return (path + os.sep).startswith(PYTHONS)


def of_python(name):
    """Imports a module of Python's own library even if the tool's project has one of that name. The
    tool still imports the project's module."""
    path = sys.path[:]
    others = [folder for folder in path if not is_pythons(folder)]
    files = [os.path.join(folder, name) for folder in others]
    is_hidden = any(os.path.exists(file + ".py") or os.path.exists(os.path.join(file, "__init__.py"))
                    for file in files)
    theirs = {}
    if is_hidden and not is_pythons(getattr(sys.modules.get(name), "__file__", LIBRARY)):
        theirs = take_modules(name)  # Python's startup code may have imported the project's module
    sys.path[:] = [folder for folder in path if folder not in others]
    try:
        module = __import__(name)
    finally:
        sys.path[:] = path
    if is_hidden:
        take_modules(name)
        sys.modules.update(theirs)
    return module


def take_modules(name):
    return {each: sys.modules.pop(each) for each in list(sys.modules)
            if each.partition(".")[0] == name}


json = of_python("json")

# ---- Changed module files

# A second change within this time may leave the file's times as they are. The coarsest file systems
# have a resolution of two seconds.
YOUNG_NS = 2500000000

SourceFileLoader = _frozen_importlib_external.SourceFileLoader
get_data = SourceFileLoader.get_data


def get_data_of_source(loader, path):
    """Refuses a .pyc that may be older than its source. Python accepts a .pyc if the source's size
    and time in seconds match. So it would run old code if a file is edited twice in a second, or
    gets its old time back."""
    if path.endswith(".pyc") and not is_pythons(path):
        source = max(os.stat(loader.path).st_ctime_ns, os.lstat(loader.path).st_ctime_ns)
        if os.stat(path).st_mtime_ns < source + YOUNG_NS:
            raise OSError("%s may be older than its source" % path)
    return get_data(loader, path)


SourceFileLoader.get_data = get_data_of_source

PROTOCOL_VERSION = 1
LONGEST_TEXT = 64 * 1024
NO_REPLY = 70  # the exit status if the reply cannot be written (EX_SOFTWARE)
CLOSED = "the tool closed the descriptor of its reply, or no process reads it"
# Set by the library: TMPDIR is a scratch folder of this tool, removed with its process.
HAS_SCRATCH = "--has-scratch" in sys.argv[1:2]

# The guarantees and the end of their message: Tool "t" cannot use the network.
GUARANTEES = {
    "no_filesystem_write": "write to the filesystem",
    "no_filesystem_read": "read from the filesystem",
    "no_network": "use the network",
    "no_subprocess": "spawn subprocesses",
    "no_env_read": "read environment variables",
    "no_env_write": "write environment variables",
    "secrets_allowed": "access secrets",
}

# The variables that Namel3ss treats as secrets, without their optional prefixes.
SECRETS = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "MISTRAL_API_KEY", "DATABASE_URL",
           "EDGE_KV_URL")


def secret_of(variable):
    """Returns the secret of a variable, such as "OPENAI_API_KEY" for "NAMEL3SS_OPENAI_API_KEY";
    None for other variables."""
    for secret in SECRETS:
        if variable in (secret, "NAMEL3SS_" + secret, "N3_" + secret):
            return secret
    return None


class Fault(Exception):
    """A failure outside the tool's code: its report has no traceback."""

    def __init__(self, type_, message):
        super().__init__(message)
        self.type = type_


class CapabilityViolation(PermissionError):
    """The tool attempted an act that a guarantee forbids."""

    def __init__(self, guarantee, message):
        super().__init__(1, message)
        self.guarantee = guarantee


def blocked_reason(guarantee):
    return "secrets_blocked" if guarantee == "secrets_allowed" else "guarantee_blocked"


# ---- The reply

class Answer:
    """Writes the reply to a descriptor that the tool does not know."""

    def __init__(self, descriptor):
        self.process = os.getpid()
        self.descriptor = descriptor
        self.file = identity(descriptor)

    def send(self, reply):
        if os.getpid() != self.process:
            os._exit(0)  # the tool forked, and this is its child
        try:
            # The tool may have closed the descriptor, and a different file may have its number now.
            if identity(self.descriptor) != self.file:
                raise OSError
            unsent = memoryview(reply)
            while unsent:
                unsent = unsent[os.write(self.descriptor, unsent):]
            os.close(self.descriptor)
        except OSError:
            no_reply(CLOSED)


def take_standard_output():
    """Returns a copy of the descriptor of standard output. Redirects standard output to standard
    error, including output of native code."""
    try:
        descriptor = os.dup(1)
    except OSError:
        no_reply("standard output is closed")
    try:
        os.dup2(2, 1)
    except OSError:
        nowhere = os.open(os.devnull, os.O_RDWR)
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)
        os.close(nowhere)
    return descriptor


def identity(descriptor):
    status = os.fstat(descriptor)
    return status.st_dev, status.st_ino


def no_reply(why):
    say("the reply cannot be written: " + why)
    os._exit(NO_REPLY)


def say(text):
    try:
        os.write(2, ("narratoria_runner: %s\n" % text).encode("utf-8", "backslashreplace"))
    except OSError:
        pass


def encode(reply):
    return json.dumps(reply, allow_nan=False, ensure_ascii=False, default=number_of).encode() + b"\n"


def number_of(value):
    """Converts a Decimal for JSON. The module is not imported here: a tool that returns a Decimal
    has imported it."""
    decimal = sys.modules.get("decimal")
    if decimal is None or not isinstance(value, decimal.Decimal):
        raise TypeError("Object of type %s is not JSON serializable" % type(value).__name__)
    return int(value) if value.is_finite() and value == value.to_integral_value() else float(value)


def failure(type_, message, **more):
    error = {"type": type_, "message": shortened(message)}
    error.update((name, value) for name, value in more.items() if value is not None)
    return {"ok": False, "protocol_version": PROTOCOL_VERSION, "error": error}


def shortened(text):
    text = text.encode("utf-8", "backslashreplace").decode()
    if len(text) <= LONGEST_TEXT:
        return text
    half = LONGEST_TEXT // 2
    # This file is ASCII: it is an argument of Python, which decodes it as the locale says.
    return "%s\n\u2026 %d characters \u2026\n%s" % (text[:half], len(text) - 2 * half, text[-half:])


def reply_to(data, import_module=__import__):
    """Returns the reply to a request as bytes. Raises nothing."""
    guards = None
    try:
        find_modules_by_name()
        request = read_request(data)
        guards = Guards(request)
        guards.install()
        function = find_function(request["entry"], import_module)
        reply = {"ok": True, "protocol_version": PROTOCOL_VERSION,
                 "result": awaited(function(request.get("payload", {})))}
        guards.report(reply)
        return encode_result(reply)
    except BaseException as error:  # also SystemExit, KeyboardInterrupt
        try:
            reply = explain(error, guards)
            if guards is not None:
                guards.report(reply)
            return encode(reply)
        except BaseException:
            return encode(failure(type(error).__name__,
                                  "The tool failed, and its error cannot be described."))


def encode_result(reply):
    try:
        return encode(reply)
    except (TypeError, ValueError, RecursionError, UnicodeError) as error:
        why = why_not_json(reply["result"]) or "cannot be written as JSON: %s" % error
        raise Fault(type(error).__name__, "The function's result " + why) from None


def why_not_json(result):
    """Describes the first part of a result that is not valid JSON; None if there is none. Not
    recursive, because the result may be deeply nested."""
    waiting, seen = [("", result)], set()
    while waiting:
        path, value = waiting.pop()
        where = "has, at %s, " % path[:200] if path else "is "
        if value is None or isinstance(value, (bool, int)):
            continue
        if isinstance(value, float):
            if value - value != 0:
                return where + "%r, a number that JSON does not have." % value
        elif isinstance(value, str):
            try:
                value.encode()
            except UnicodeError:
                return where + "a str with a lone surrogate, which is not valid Unicode."
        elif isinstance(value, (list, tuple, dict)):
            if id(value) in seen:
                continue
            seen.add(id(value))
            if isinstance(value, dict):
                for key, each in value.items():
                    if not (key is None or isinstance(key, (str, int, float))):
                        return where + "a dict with the key %s; keys must be str." % shown(key)
                    waiting.append(("%s.%s" % (path, key) if path else str(key), each))
            else:
                waiting.extend(("%s[%d]" % (path, i), each) for i, each in enumerate(value))
        elif isinstance(value, (bytes, bytearray, memoryview)):
            return where + "bytes; decode them to str, or encode them as base64."
        elif isinstance(value, (set, frozenset)):
            return where + "a set; convert it to a list."
        elif hasattr(value, "__next__") or hasattr(value, "__anext__"):
            return where + "a generator; convert it to a list."
        else:
            kind = type(value)
            return where + "a %s.%s, which JSON does not have; return dicts, lists, strings, " \
                "numbers, booleans or None." % (kind.__module__, kind.__qualname__)
    return None


def shown(value):
    try:
        return repr(value)[:200]
    except BaseException:
        return "of type " + type(value).__name__


def explain(error, guards):
    if isinstance(error, Fault):
        return failure(error.type, str(error))
    name = type(error).__name__
    details = {"traceback": traceback_of(error)}
    blocked = guards.blocked_by(error) if guards is not None else None
    if blocked is not None:
        guarantee, message = blocked
        return failure("CapabilityViolation", message, reason_code=blocked_reason(guarantee),
                       details=details)
    if isinstance(error, SystemExit):
        message = "The tool exited (sys.exit) with %s instead of returning a result." \
            % shown(error.code)
    else:
        try:
            message = str(error) or name
            if isinstance(error, KeyError):  # its text is the key alone
                message = "%s: %s" % (name, message)
        except BaseException as broken:
            message = "the error has no message: str() raised %s" % type(broken).__name__
    return failure(name, message, details=details)


def traceback_of(error):
    try:
        import traceback
        frames = error.__traceback__
        while frames is not None and frames.tb_frame.f_globals is globals():
            frames = frames.tb_next  # begin with the tool's code
        return shortened("".join(traceback.format_exception(type(error), error, frames)))
    except BaseException:
        return "The traceback cannot be written."


# ---- The request

def read_request(data):
    def fault(message):
        return Fault("ProtocolError", message)

    try:
        request = json.loads(data.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        what = "is empty" if not data.strip() else "is not valid JSON: %s" % error
        raise fault("The request (%d bytes) %s" % (len(data), what)) from None
    if not isinstance(request, dict):
        raise fault("The request is not a JSON object.")
    version = request.get("protocol_version", PROTOCOL_VERSION)
    if isinstance(version, bool) or version != PROTOCOL_VERSION:
        raise fault("The request has protocol version %s; this runner supports only version %d."
                    % (json.dumps(version), PROTOCOL_VERSION))
    for name, type_, text in (("tool", str, "a string"), ("entry", str, "a string"),
                              ("sandbox", bool, "true or false"), ("trace_id", str, "a string"),
                              ("capability_context", dict, "an object")):
        if name in request and not isinstance(request[name], type_):
            raise fault('"%s" in the request must be %s.' % (name, text))
    if "entry" not in request:
        raise fault('The request has no "entry".')
    return request


def find_modules_by_name():
    """Makes imports work from folders that cannot be listed. Under no_filesystem_read only the
    tool's own module in the project's folder may be read, but Python finds modules by listing the
    folder. For such folders, makes Python try each file name. Otherwise changes nothing."""
    def is_closed(folder):
        try:
            os.close(os.open(folder or ".", os.O_RDONLY | os.O_DIRECTORY))
        except PermissionError:
            return True
        except OSError:
            pass
        return False

    closed = {folder for folder in sys.path if not is_pythons(folder) and is_closed(folder)}
    if not closed:
        return
    closed.add(os.getcwd())  # an empty entry of sys.path means this folder
    from importlib.machinery import (EXTENSION_SUFFIXES, SOURCE_SUFFIXES, ExtensionFileLoader,
                                     FileFinder, SourceFileLoader)

    class Everything:
        def __contains__(self, name):
            return True

    class Finder(FileFinder):
        def _fill_cache(self):
            self._path_cache = self._relaxed_path_cache = Everything()

    def hook(folder):
        if folder not in closed:
            raise ImportError("can be listed")
        return Finder(folder, (ExtensionFileLoader, EXTENSION_SUFFIXES),
                      (SourceFileLoader, SOURCE_SUFFIXES))

    sys.path_hooks.insert(0, hook)
    for folder in closed:
        sys.path_importer_cache.pop(folder, None)


def find_function(entry, import_module):
    name, colon, path = entry.partition(":")
    parts = name.split(".") + path.split(".")
    if not colon or not all(part.isidentifier() for part in parts):
        raise Fault("ValueError", 'The entry "%s" does not have the form module:function.' % entry)
    try:
        import_module(name)
    except ModuleNotFoundError as error:
        missing = error.name or ""
        if name == missing or name.startswith(missing + "."):
            raise Fault("ModuleNotFoundError",
                        'There is no module "%s" (entry "%s"). Folders searched: %s.'
                        % (missing, entry, ", ".join(sys.path))) from None
        raise
    module = value = sys.modules[name]
    for part in path.split("."):
        try:
            value = getattr(value, part)
        except AttributeError:
            raise Fault("AttributeError", no_function(module, path)) from None
    if not callable(value):
        raise Fault("TypeError", '"%s" in the module "%s" is not a function but of type %s.'
                    % (path, name, type(value).__name__))
    return value


def no_function(module, path):
    import difflib
    there = getattr(module, "__file__", None) or "built in"
    message = 'The module "%s" (%s) has no function "%s".' % (module.__name__, there, path)
    names = [name for name, value in vars(module).items() if callable(value)]
    near = difflib.get_close_matches(path, names, 1)
    return message + (' Did you mean "%s"?' % near[0] if near else "")


def awaited(result):
    if not hasattr(type(result), "__await__"):
        return result
    import asyncio

    async def wait():
        return await result

    return asyncio.run(wait())


# ---- Guarantees

def known_folders(known={}):
    """Returns the folders of Python and of modules. A server calls this before it forks, so that
    calls find the result in the cache."""
    key = tuple(sys.path)
    if key not in known:
        python = [sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix]
        known[key] = [tuple({os.path.realpath(folder) + os.sep for folder in folders})
                      for folders in (python, sys.path)]
    return known[key]


class Guards:
    """Refuses acts that the guarantees forbid, with the message of the specification, and records
    them for the reply's capability_checks."""

    def __init__(self, request):
        # Applies even without the sandbox, which allow_unsafe_execution may have waived.
        context = request.get("capability_context", {})
        required, sources = (context.get(name, {}) for name in ("guarantees", "sources"))
        self.tool = request.get("tool", "")
        self.required = {name for name in GUARANTEES
                         if isinstance(required, dict) and required.get(name) is True}
        self.sources = sources if isinstance(sources, dict) else {}
        self.secrets = required.get("secrets_allowed") if isinstance(required, dict) else None
        if isinstance(self.secrets, list):
            self.required.add("secrets_allowed")
        self.read_secrets = set()
        self.blocked = {}  # guarantee: message of the first attempt
        self.is_asking = False

    def install(self):
        if not self.required:
            return
        if "no_filesystem_write" in self.required:
            sys.dont_write_bytecode = True
        # Computed before the hook is installed. Python and the tool's modules stay readable.
        self.python, self.modules = known_folders()
        self.library = LIBRARY + os.sep
        scratch = os.environ.get("TMPDIR", "")
        self.scratch = os.path.realpath(scratch) + os.sep if HAS_SCRATCH and scratch else None
        if self.required & {"no_env_read", "no_env_write", "secrets_allowed"}:
            guard_environment(self)
        sys.addaudithook(self.on_event)

    def on_event(self, event, arguments):
        rule = RULES.get(event)
        if rule is None or self.is_asking:
            return
        self.is_asking = True  # acts of the rule itself are not acts of the tool
        try:
            found = rule(self, arguments)
        finally:
            self.is_asking = False
        if found is not None:
            self.block(*found)

    def block(self, guarantee, attempt):
        if guarantee not in self.required:
            return
        message = 'Tool "%s" cannot %s.' % (self.tool, GUARANTEES[guarantee])
        if attempt:
            message += " It tried to %s." % attempt[:1000]
        self.blocked.setdefault(guarantee, message)
        raise CapabilityViolation(guarantee, message)

    def on_secret(self, variable):
        secret = secret_of(variable) if isinstance(variable, str) else None
        if secret is None or "secrets_allowed" not in self.required:
            return
        if secret in self.secrets or variable in self.secrets:
            self.read_secrets.add(secret)
        else:
            self.block("secrets_allowed", "read %s" % variable)

    def blocked_by(self, error):
        """Returns the guarantee and the message if a guarantee caused the error or one in its
        chain; otherwise None."""
        for _ in range(50):
            if error is None:
                return None
            if isinstance(error, CapabilityViolation):
                return error.guarantee, error.strerror
            guarantee = self.kernel_refused(error)
            if guarantee is not None:
                message = 'Tool "%s" cannot %s.' % (self.tool, GUARANTEES[guarantee])
                if getattr(error, "filename", None) is not None:
                    message += " It tried to use %s." % shown(error.filename)
                self.blocked.setdefault(guarantee, message)
                return guarantee, message
            error = error.__cause__ or error.__context__
        return None

    def kernel_refused(self, error):
        """Returns the guarantee that the kernel enforced when it refused an act without a rule."""
        import errno
        number = getattr(error, "errno", None)
        if not isinstance(error, OSError) or number is None:
            return None
        if number in (errno.ENETUNREACH, errno.ENETDOWN) and "no_network" in self.required:
            return "no_network"
        if number in (errno.EPERM, errno.EACCES, errno.EROFS) and error.filename is not None:
            # If both apply, the error does not say whether it was a read or a write. Modules are
            # only read.
            either = self.required & {"no_filesystem_write", "no_filesystem_read"}
            if "no_filesystem_read" in either and str(error.filename).endswith((".py", ".so")):
                return "no_filesystem_read"
            return either.pop() if len(either) == 1 else None
        return None

    def report(self, reply):
        checks = [self.check("secrets_allowed", True, "secrets_allowed") for _ in self.read_secrets]
        checks += [self.check(each, False, blocked_reason(each)) for each in self.blocked]
        if checks:
            reply["capability_checks"] = checks

    def check(self, guarantee, is_allowed, reason):
        capability = "secrets" if guarantee == "secrets_allowed" else guarantee[len("no_"):]
        return {"capability": capability, "allowed": is_allowed,
                "guarantee_source": str(self.sources.get(guarantee, "")), "reason": reason}

    def is_library_code(self):
        """True if the caller is Python's own library, which reads SSL_CERT_FILE, for example."""
        frame = sys._getframe(2)
        while frame is not None:
            file = frame.f_code.co_filename
            inside = frame.f_globals is globals() or file.startswith("<frozen") or \
                file in (os.__file__, self.library + "_collections_abc.py")
            if not inside:
                return file.startswith(self.library) and "-packages" not in file
            frame = frame.f_back
        return True


def path_of(value):
    """Returns the absolute path in an event's argument; None for a descriptor."""
    if isinstance(value, int):
        return None
    try:
        return os.path.realpath(os.fsdecode(value))
    except (TypeError, ValueError, OSError):
        return None


def on_open(guards, arguments):
    value, mode, flags = arguments
    path = path_of(value)
    if path is None or path in ("/dev/null", "/dev/urandom", "/dev/random"):
        return None
    writing = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
    writes = (flags & writing) if isinstance(flags, int) else 0
    writes = writes or (isinstance(mode, str) and set(mode) & set("wax+"))
    if writes:
        return on_write(guards, (value,))
    return on_read(guards, path, path.endswith((".py", ".pyc", ".so", ".pth")))


def on_read(guards, path, is_module=False):
    if guards.scratch and (path + os.sep).startswith(guards.scratch):
        return None
    if (path + os.sep).startswith(guards.python):
        return None
    if is_module and (path + os.sep).startswith(guards.modules):
        return None
    return "no_filesystem_read", "read %s" % path


def on_list(guards, arguments):
    path = path_of(arguments[0] if arguments[0] is not None else ".")
    if path is None:
        return None
    importing = sys._getframe(2).f_code.co_filename.startswith("<frozen")
    return on_read(guards, path, importing)


def on_write(guards, arguments):
    paths = [path for path in map(path_of, arguments[:2]) if path is not None]
    if guards.scratch and paths and \
            all((path + os.sep).startswith(guards.scratch) for path in paths):
        return None
    return "no_filesystem_write", "change %s" % " and ".join(paths) if paths else ""


def on_address(guards, arguments):
    address = arguments[1] if len(arguments) > 1 else ""
    if isinstance(address, tuple) and len(address) >= 2:
        address = "%s:%s" % address[:2]
    return "no_network", "reach %s" % (address if isinstance(address, str) else shown(address))


def on_name(guards, arguments):
    return "no_network", "look up %s" % shown(arguments[0])


def on_socket(guards, arguments):
    import socket
    family = arguments[1]
    local = family in (-1, getattr(socket, "AF_UNIX", -1))  # asyncio creates a socket pair
    return None if local else ("no_network", "open a socket (%s)" % shown(family))


def on_command(guards, arguments):
    command = arguments[0] if arguments else ""
    if len(arguments) > 1 and isinstance(arguments[1], (list, tuple)):
        command = " ".join(str(each) for each in arguments[1])
    return "no_subprocess", "start %s" % (command if isinstance(command, str) else shown(command))


def on_variable(guards, arguments):
    return "no_env_write", "change %s" % os.fsdecode(arguments[0])


# Rules by audit event. A rule returns the guarantee and the attempted act, or None if the act is
# harmless. In the sandbox the kernel decides; an act without a rule is reported after its refusal.
RULES = {"open": on_open, "os.listdir": on_list, "os.scandir": on_list, "socket.__new__": on_socket,
         "os.fork": lambda *_: ("no_subprocess", "fork"),
         "os.forkpty": lambda *_: ("no_subprocess", "fork")}
RULES.update(dict.fromkeys(("socket.connect", "socket.bind", "socket.sendto", "socket.sendmsg"),
                           on_address))
RULES.update(dict.fromkeys(("socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr"),
                           on_name))
RULES.update(dict.fromkeys(("subprocess.Popen", "os.system", "os.exec", "os.spawn",
                            "os.posix_spawn", "pty.spawn"), on_command))
RULES.update(dict.fromkeys(("os.putenv", "os.unsetenv"), on_variable))
RULES.update(dict.fromkeys(("os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.link",
                            "os.symlink", "os.truncate", "os.chmod", "os.chown", "os.utime",
                            "os.setxattr", "os.removexattr", "os.lockf"), on_write))


def guard_environment(guards):
    """Guards reads of os.environ. Python reads the environment once at start, so a read by the tool
    raises no audit event."""
    class Environment(type(os.environ)):
        def asks(self, name):
            if guards.is_asking:
                return True
            if "no_env_read" not in guards.required:
                guards.on_secret(name)
                return True
            if guards.is_library_code():
                return name == "TMPDIR"  # the scratch folder, where tempfile looks
            guards.block("no_env_read", "read %s" % shown(name) if name else "list them")
            return False

        def __getitem__(self, name):
            if not self.asks(name):
                raise KeyError(name)
            return super().__getitem__(name)

        def __contains__(self, name):
            return self.asks(name) and super().__contains__(name)

        def __iter__(self):
            return super().__iter__() if self.asks(None) else iter(())

        def __len__(self):
            return super().__len__() if self.asks(None) else 0

    os.environ.__class__ = Environment


# ---- Start

def fix_path():
    """Fixes the first entry of sys.path. With `python -c` it is the current folder, which the tool
    may change. The library puts that folder into PYTHONPATH, after the packs."""
    if sys.path and sys.path[0] == "":
        folder = os.getcwd()
        if folder in map(os.path.realpath, sys.path[1:]):
            del sys.path[0]
        else:
            sys.path[0] = folder


# ---- After the function

def await_end():
    """Called after the reply, while Python waits for threads and exit handlers. If that takes too
    long, the caller sends SIGTERM; this process then reports which of them still run, and exits."""
    def tell(*_):
        threading = sys.modules.get("threading")
        running = [each.name for each in (threading.enumerate() if threading else ())
                   if not each.daemon and each is not threading.main_thread()]
        say("the function has returned, but its process was terminated while %s ran" % (
            "the thread " + ", ".join(map(shown, running)) if running else "an exit handler"))
        os._exit(0)

    try:
        _signal.signal(_signal.SIGTERM, tell)
    except (OSError, ValueError):
        pass


def tell_children():
    """Reports the child processes that end together with this one."""
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except OSError:
        return  # no children
    try:
        children = [child for task in os.listdir("/proc/self/task")
                    for child in read_file("/proc/self/task/%s/children" % task).split()]
        commands = [read_file("/proc/%s/cmdline" % child) for child in children]
        forked = read_file("/proc/self/cmdline")
    except OSError:
        return  # this system or the sandbox hides them
    commands = ["a copy of itself" if each == forked else each.rstrip("\0").replace("\0", " ")[:200]
                for each in commands if each]  # empty: the process has ended
    if commands:
        say("the tool left processes behind, which are terminated: " + "; ".join(commands))


def read_file(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


def main():
    fix_path()
    del sys.argv[1:]
    atexit.register(tell_children)
    answer = Answer(take_standard_output())
    try:
        data = sys.stdin.buffer.read()
    except (AttributeError, OSError):
        data = b""  # standard input is closed
    answer.send(reply_to(data))
    await_end()
    return 0


if __name__ == "__main__":
    # The library inserts fork_server.py, which defines serve(), before this text.
    sys.exit(globals().get("serve", main)())
