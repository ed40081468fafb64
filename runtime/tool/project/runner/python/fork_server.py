# SPDX-License-Identifier: Apache-2.0
"""Keeps Python warm: imports a tool's module once and forks for each call.

The library inserts this text before narratoria_runner.py and uses its functions. One server serves
the tools of one module, one call after the other. Standard input carries requests: the size in
bytes, a line feed, the text. Standard output carries frames: a letter, a size, a line feed, bytes.

    T    the request was taken; from now on the tool may act
    L    output that the tool printed
    A    a part of the reply
    E    the call has ended: wait status, user and system microseconds, resident kilobytes, and 1 if
         the tool left processes behind, in which case the server exits
    F    the server cannot fork, for the given reason; it runs the call itself and exits
    C    a file that the import has read has changed; the request was not taken, the server exits

A call is a child process that has imported the module and knows nothing of earlier calls. If the
server cannot guarantee that, it answers F: see Server.why_not(). This isolates calls from each
other. It does not restrict a hostile module; the kernel does that.
"""

PR_SET_DUMPABLE, PR_SET_CHILD_SUBREAPER, PIDFD_OPEN = 4, 36, 434
HIDDEN = "the server cannot read /proc, so it cannot check whether it may fork"
# More than a pipe holds. Bounds the drain: a process that was left behind may write forever.
MOST_LEFT_IN_A_PIPE = 2 * 1024 * 1024
# A recently changed file up to this size in bytes is compared by content.
MOST_COMPARED = 64 * 1024 * 1024


class Seeds:
    """Gives each call its own random numbers. A generator that the module seeded with a number
    keeps its state, as in a fresh process."""

    def __init__(self):
        self.own = weakref.WeakSet()  # generators seeded from the system
        self.is_fixed = False  # the tool's module seeded the global generator of random
        self.seed, self.seed_all, self.set_all = random.Random.seed, random.seed, random.setstate

        def seed(generator, a=None, version=2):
            (self.own.add if a is None else self.own.discard)(generator)
            return self.seed(generator, a, version)

        def seed_all(a=None, version=2):
            self.is_fixed = a is not None
            return self.seed_all(a, version)

        def set_all(state):
            self.is_fixed = True
            return self.set_all(state)

        random.Random.seed, random.seed, random.setstate = seed, seed_all, set_all

    def release(self):
        random.Random.seed, random.seed, random.setstate = self.seed, self.seed_all, self.set_all

    def note(self):
        self.release()
        self.own = list(self.own)
        self.state = random.getstate() if self.is_fixed else None
        self.bits = unseeded_bits()

    def renew(self):
        """Runs in the child. Python itself has reseeded the global generator of random."""
        for generator in self.own:
            self.seed(generator)
        if self.is_fixed:
            random.setstate(self.state)
        for bits in self.bits:
            bits.state = type(bits)().state


def unseeded_bits():
    """Returns the generators of numpy that took their seed, 128 bits, from the system."""
    numpy = sys.modules.get("numpy.random")
    if numpy is None:
        return []
    found = [each for each in gc.get_objects() if isinstance(each, numpy.BitGenerator)]
    found += [each._bit_generator for each in gc.get_objects()
              if isinstance(each, (numpy.Generator, numpy.RandomState))]
    found.append(numpy.mtrand._rand._bit_generator)
    unseeded = {}
    for bits in found:
        entropy = getattr(getattr(bits, "seed_seq", None) or getattr(bits, "_seed_seq", None),
                          "entropy", None)
        if isinstance(entropy, int) and entropy >= 1 << 64:
            unseeded[id(bits)] = bits
    return list(unseeded.values())


class Files:
    """The files and folders that the import has read, except Python's library and installed
    packages. Each is recorded before it is read, so no edit is missed, unless the clock of its file
    system is behind by more than YOUNG_NS."""

    def __init__(self):
        self.inputs = {}
        self.is_open = True
        self.left_out = PYTHONS + ("/proc/", "/dev/", "/sys/")
        self.suffixes = tuple(_imp.extension_suffixes()) + (".py", ".pyc")
        self.add_paths(sys.path)
        self.add_modules()
        self.add(sys.executable)
        self.add(os.path.join(sys.prefix, "pyvenv.cfg"))
        sys.addaudithook(self.on_event)
        # Python does not open a source file if it uses the .pyc, but it asks for its times.
        path_stats = SourceFileLoader.path_stats

        def noted_path_stats(loader, path):
            if self.is_open:
                self.add(path)
            return path_stats(loader, path)

        SourceFileLoader.path_stats = noted_path_stats

    def on_event(self, event, arguments):
        if not self.is_open:
            return
        try:
            if event == "open":
                path, _, flags = arguments
                if not flags & (os.O_WRONLY | os.O_TRUNC | os.O_EXCL):
                    self.add(path)
            elif event in ("os.listdir", "os.scandir"):
                path = "." if arguments[0] is None else arguments[0]
                importing = sys._getframe(1).f_code.co_filename.startswith("<frozen")
                self.add(path, self.is_module if importing else any_name)
            elif event == "import" and arguments[1] is not None:
                self.add(arguments[1])  # a native module
        except (OSError, TypeError, ValueError):
            pass  # not a path: the module gets the error itself

    def is_module(self, name):
        return name.isidentifier() and name != "__pycache__" or name.endswith(self.suffixes)

    def add(self, path, counts=None):
        if isinstance(path, int):
            return
        path = os.path.abspath(os.fsdecode(path))
        is_cache = os.path.basename(os.path.dirname(path)) == "__pycache__"
        if path in self.inputs and not (counts is any_name and self.inputs[path].counts is not any_name):
            return
        if not is_cache and not (path + os.sep).startswith(self.left_out):
            self.is_open, was_open = False, self.is_open  # Input reads as well
            try:
                self.inputs[path] = Input(path, counts)
            finally:  # also after a RecursionError, which the module may catch
                self.is_open = was_open

    def add_paths(self, folders, package=""):
        """Adds the folders that Python searches for modules, and the folders in them that have the
        name of an imported module: with a new __init__.py such a folder hides the module."""
        for folder in folders:
            folder = os.path.abspath(folder)
            if is_pythons(folder):
                continue
            self.add(folder, self.is_module)
            for name in (self.inputs[folder].content if folder in self.inputs else None) or ():
                inner = os.path.join(folder, name)
                if package + name in sys.modules and os.path.isdir(inner):
                    self.add(inner, self.is_module)

    def add_modules(self):
        for module in list(sys.modules.values()):
            path = getattr(module, "__file__", None)
            if isinstance(path, str):
                self.add(path)

    def close(self):
        self.is_open = False
        self.add_modules()
        self.add_paths(sys.path)
        for name, module in list(sys.modules.items()):
            folders = getattr(module, "__path__", None)
            if folders is not None:
                self.add_paths([each for each in folders if isinstance(each, str)], name + ".")
        for folder in sys.path:  # packages that are installed, updated or removed
            if folder.endswith("-packages"):
                self.inputs[folder] = Input(folder, any_name)

    def have_changed(self):
        return any(each.has_changed() for each in self.inputs.values())


def any_name(_):
    return True


class Input:
    """The state of a file or folder when this object was created. File times have a resolution of
    milliseconds, on some systems of seconds: after a recent change the content is compared as well.
    Of a folder, only the names that satisfy `counts` matter."""

    def __init__(self, path, counts=None):
        self.path, self.counts = path, counts
        self.stamp, self.is_young = self.look()
        self.content = self.read() if self.is_young or counts is not None else None

    def look(self):
        try:
            status = os.stat(self.path)
        except (OSError, ValueError):
            return None, False
        times = status.st_mtime_ns, status.st_ctime_ns
        self.is_file, self.size = stat.S_ISREG(status.st_mode), status.st_size
        is_young = time.time_ns() - max(times) < YOUNG_NS
        return (times, status.st_size, status.st_ino, status.st_dev), is_young

    def read(self):
        try:
            if self.counts is not None:
                return frozenset(filter(self.counts, os.listdir(self.path)))
            if not self.is_file:
                return None
            if self.size > MOST_COMPARED:
                return object()  # equal to nothing, so the file counts as changed
            with open(self.path, "rb", buffering=0) as file:
                return hash(file.read())
        except (OSError, MemoryError):
            return None

    def has_changed(self):
        stamp, is_young = self.look()
        if stamp == self.stamp and not self.is_young:
            return False
        if stamp is None or self.stamp is None or self.counts is None and stamp != self.stamp:
            return True
        if self.read() != self.content:
            return True
        self.stamp, self.is_young = stamp, is_young
        return False


def prctl(option, value):
    return LIBC.prctl(option, ctypes.c_ulong(value), *[ctypes.c_ulong(0)] * 3) == 0


def descriptors():
    # The descriptor of the listing itself no longer exists here.
    return {name for name in os.listdir("/proc/self/fd") if os.path.lexists("/proc/self/fd/" + name)}


def shared_memory():
    with open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:
        return {line.split()[0] for line in maps if line.split()[1] == "rw-s"}


def threads():
    return len(os.listdir("/proc/self/task"))


def empty(folder):
    for each in list(os.scandir(folder)):
        if each.is_dir(follow_symlinks=False):
            empty(each.path)
            os.rmdir(each.path)
        else:
            os.unlink(each.path)


def has_children():
    """Returns True if children are running. Reaps those that have ended."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0] != 0:
            pass
    except ChildProcessError:
        return False
    return True


class Server:
    def __init__(self):
        fix_path()
        del sys.argv[1:]
        self.requests = os.dup(0)
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.close(nothing)
        self.frames = take_standard_output()
        self.file = identity(self.frames)
        self.process = os.getpid()
        self.seeds = None

    # ---- The pipes

    def send(self, kind, data=b""):
        unsent = memoryview(self.frame(kind, data))
        try:
            if identity(self.frames) != self.file:
                raise OSError
            while unsent:
                unsent = unsent[os.write(self.frames, unsent):]
        except OSError:
            no_reply(CLOSED)

    @staticmethod
    def frame(kind, data):
        return b"%b%d\n%b" % (kind, len(data), data)

    def receive(self):
        """Returns a request, or None at the end of the input."""
        size = b""
        while not size.endswith(b"\n"):
            digit = os.read(self.requests, 1)
            if not digit:
                return None
            size += digit
        left, parts = int(size), []
        while left > 0:
            part = os.read(self.requests, min(left, 1 << 20))
            if not part:
                return None
            parts.append(part)
            left -= len(part)
        return b"".join(parts)

    # ---- The main loop

    def run(self):
        request = self.receive()
        if request is None:
            return
        self.send(b"T")
        why = self.load(request)
        if why is not None:
            return self.run_alone(request, why)
        # SIGTERM goes to the tool as well. The server stays to relay the tool's last output.
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
        while True:
            ends = self.call(request)
            if ends or signal.SIGTERM in signal.sigpending():
                break
            request = self.receive()
            if request is None:
                break
            if self.files.have_changed() or self.has_used_its_time():
                self.send(b"C")
                break
            self.send(b"T")
        os._exit(0)  # the module's atexit handlers belong to the calls

    @staticmethod
    def has_used_its_time():
        """The server must not reach the processor time limit, which is meant for a single call."""
        limit = resource.getrlimit(resource.RLIMIT_CPU)[0]
        return limit != resource.RLIM_INFINITY and time.process_time() > limit / 2

    def load(self, request):
        """Imports the module. Returns None if the server can fork. Otherwise returns the reason, or
        "" if the reply of the call contains it."""
        self.failure = None
        self.scratch = os.environ.get("TMPDIR") if HAS_SCRATCH else None
        try:
            entry = read_request(request)["entry"]
        except Fault:
            return ""
        if LIBC is None:
            return "its Python has no module ctypes"
        try:
            before = descriptors(), shared_memory()
        except OSError:
            return HIDDEN
        self.files, self.seeds = Files(), Seeds()
        try:
            __import__(entry.partition(":")[0])
        except BaseException as error:
            self.failure = error
        if os.getpid() != self.process:
            os._exit(0)  # the module forked, and this is its child, not the server
        if self.failure is not None:
            return ""
        self.files.close()
        try:
            why = self.why_not(*before)
            if why is None and self.scratch and os.listdir(self.scratch):
                why = "its module leaves temporary files when it is imported"
        except OSError:
            why = HIDDEN
        if why is None:
            self.seeds.note()
            known_folders()
            gc.collect()
            gc.freeze()
        return why

    @staticmethod
    def why_not(open_before, shared_before):
        if len(sys._current_frames()) > 1:
            return "its module starts a thread when it is imported"
        if not open_before >= descriptors():
            return "its module opens a file or a socket when it is imported, and keeps it open"
        if open_before != descriptors():
            return "its module closes an inherited descriptor when it is imported"
        if not shared_before >= shared_memory():
            return "its module creates shared memory when it is imported"
        if has_children():
            return "its module starts a process when it is imported"
        if signal.getsignal(signal.SIGCHLD) is not signal.SIG_DFL:
            return "its module handles or ignores SIGCHLD"
        if any(signal.getitimer(timer)[0] for timer in (signal.ITIMER_REAL, signal.ITIMER_VIRTUAL,
                                                        signal.ITIMER_PROF)):
            return "its module sets a timer when it is imported"
        if not prctl(PR_SET_CHILD_SUBREAPER, 1):
            return "this system does not support subreapers (PR_SET_CHILD_SUBREAPER)"
        watch = LIBC.syscall(PIDFD_OPEN, os.getpid(), 0)
        if watch < 0:
            return "this system has no pidfd_open (Linux 5.3)"
        os.close(watch)
        if threads() > 1:
            # Numerical libraries end their threads before a fork and start them again later.
            child = os.fork()
            if child == 0:
                os._exit(0)
            os.waitpid(child, 0)
            if threads() > 1:
                return "its module starts a native thread when it is imported"
        # From now on no call can read the server's memory.
        prctl(PR_SET_DUMPABLE, 0)
        return None

    def import_again(self, name):
        if self.failure is not None:
            raise self.failure
        return __import__(name)

    def run_alone(self, request, why):
        """Runs the call in this process, which has not run a call itself so far."""
        self.send(b"F", why.encode())
        if self.seeds is not None:
            self.seeds.release()
        if LIBC is not None:
            prctl(PR_SET_CHILD_SUBREAPER, 0)
        os.close(self.requests)
        atexit.register(tell_children)
        answer = Answer(self.frames)
        answer.send(self.frame(b"A", reply_to(request, self.import_again)))
        await_end()

    # ---- A call

    def call(self, request):
        """Runs a call in a child. Returns True if the server must end."""
        opened = []
        try:
            for _ in range(2):
                opened += os.pipe()
            opened.append(os.dup(0))  # relay() needs one more
            child = os.fork()
        except OSError:
            for each in opened:
                os.close(each)
            prctl(PR_SET_DUMPABLE, 1)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
            self.run_alone(request, "")
            sys.exit(0)
        output, child_output, reply, child_reply, spare = opened
        os.close(spare)
        if child == 0:
            try:
                for each in (output, reply, self.requests, self.frames):
                    os.close(each)
                self.run_child(request, child_output, child_reply)
            finally:
                os._exit(NO_REPLY)
        os.close(child_output)
        os.close(child_reply)
        try:
            return self.relay(child, output, reply)
        finally:
            os.close(output)
            os.close(reply)

    def run_child(self, request, output, reply):
        prctl(PR_SET_DUMPABLE, 1)
        os.setpgid(0, 0)  # like a fresh process, which leads a process group
        os.dup2(output, 1)
        os.dup2(output, 2)
        os.close(output)
        self.seeds.renew()
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
        Answer(reply).send(reply_to(request))
        await_end()
        # Python's own steps at exit.
        threading = sys.modules.get("threading")
        for step in ((threading._shutdown if threading else None), atexit._run_exitfuncs,
                     lambda: sys.stdout.flush(), lambda: sys.stderr.flush()):
            try:
                if step is not None:
                    step()
            except BaseException:
                pass
        LIBC.fflush(None)
        os._exit(0)

    def relay(self, child, output, reply):
        ended = LIBC.syscall(PIDFD_OPEN, child, 0)
        poll = select.poll()
        kinds = {output: b"L", reply: b"A"}
        for each in (output, reply, ended):
            poll.register(each, select.POLLIN)
        while True:
            ready = [each for each, _ in poll.poll()]
            if ended in ready:
                break
            for each in ready:
                data = os.read(each, 1 << 16)
                if data:
                    self.send(kinds[each], data)
                else:
                    poll.unregister(each)
        os.close(ended)
        theirs = sys.modules.get("resource")
        sys.modules["resource"] = resource  # wait4() looks up the type of its result there
        _, status, usage = os.wait4(child, 0)
        if theirs is None:
            del sys.modules["resource"]
        else:
            sys.modules["resource"] = theirs
        for each, kind in kinds.items():
            os.set_blocking(each, False)
            left = MOST_LEFT_IN_A_PIPE
            while left > 0:
                try:
                    data = os.read(each, 1 << 16)
                except BlockingIOError:
                    break
                if not data:
                    break
                self.send(kind, data)
                left -= len(data)
        left_behind = has_children()
        if left_behind:
            tell_children()
        if self.scratch and not left_behind:
            try:
                empty(self.scratch)
            except (OSError, RecursionError):
                left_behind = True  # the supervisor removes it
        self.send(b"E", b"%d %d %d %d %d" % (
            status, usage.ru_utime * 1e6, usage.ru_stime * 1e6, usage.ru_maxrss, left_behind))
        return left_behind


def serve():
    global LIBC, ctypes, gc, random, resource, select, signal, weakref
    gc, random, resource, select, signal, weakref = map(of_python, (
        "gc", "random", "resource", "select", "signal", "weakref"))
    try:
        ctypes = of_python("ctypes")
        LIBC = ctypes.CDLL(None, use_errno=True)
    except (ImportError, OSError):
        LIBC = None
    Server().run()
    return 0


