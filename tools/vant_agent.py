#!/usr/bin/env python3
"""Call one method of the vant host and print the reply, indented.

    vant_agent.py METHOD [JSON]

    python3 tools/vant_agent.py status
    python3 tools/vant_agent.py net.fetch '{"url":"https://example.com"}'

METHOD is any method of the host ("describe" lists them); JSON is an object of
parameters, {} when it is left out.

The socket is $VANT_SOCKET, else vantage-agent-<uid>.sock in $XDG_RUNTIME_DIR,
else in /tmp. Exit status: 0 for a result, 1 for a failure, 2 for wrong usage.
Only the standard library is used; Python 3.8 or later.
"""

import json
import os
import re
import socket
import struct
import sys

MAX_REPLY = 16 * 1024 * 1024 + 1  # the protocol's limit, and the newline
MAX_PATH = 104
TIMEOUT = 310.0  # seconds: a little more than the host's own longest bound


class Failure(Exception):
    """There is no reply; nothing can be said on standard output."""


# A token of JSON: a string, a mark, or a number or word.
TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+')


def socket_path(environ):
    """The path at which host and clients of a user meet."""
    if environ.get("VANT_SOCKET"):
        return environ["VANT_SOCKET"]
    directory = environ.get("XDG_RUNTIME_DIR", "")
    if not os.path.isabs(directory):
        directory = "/tmp"
    return os.path.join(directory, "vantage-agent-%d.sock" % os.getuid())


def check_peer(connection, path):
    """Nothing is sent to another user's process."""
    if hasattr(socket, "SO_PEERCRED"):
        raw = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
        _, uid, _ = struct.unpack("3i", raw)
    else:
        uid = os.lstat(path).st_uid
    if uid != os.geteuid():
        raise Failure("%s is served by another user (uid %d): nothing was sent" % (path, uid))


def exchange(path, line):
    """Send one line and give the reply line, without its newline."""
    path = os.path.abspath(path)
    if len(os.fsencode(path)) > MAX_PATH:
        raise Failure("socket path %s is longer than %d bytes" % (path, MAX_PATH))
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(TIMEOUT)
        try:
            connection.connect(path)
        except (FileNotFoundError, ConnectionRefusedError) as error:
            raise Failure('no host at %s (%s): start one with "vant up"' % (path, error.strerror))
        check_peer(connection, path)
        try:
            connection.sendall(line)
        except (BrokenPipeError, ConnectionResetError):
            pass  # a host that refuses a request answers before it has read it all
        chunks, size = [], 0
        while True:
            try:
                chunk = connection.recv(1 << 16)
            except ConnectionResetError:
                chunk = b""
            if not chunk:
                raise Failure("the host closed the connection without a reply; whether the call took effect is unknown")
            end = chunk.find(b"\n")
            if end >= 0:
                return b"".join(chunks) + chunk[:end]
            chunks.append(chunk)
            size += len(chunk)
            if size >= MAX_REPLY:
                raise Failure("the reply is larger than the protocol allows")


def parse(text):
    """Check JSON. Numbers stay texts: they are passed on as they are."""
    return json.loads(text, parse_int=str, parse_float=str, parse_constant=reject)


def compact(text):
    """An object as one line of the same tokens, None when it is none."""
    try:
        if not isinstance(parse(text), dict):
            return None
    except (ValueError, RecursionError):
        return None
    return "".join(TOKEN.findall(text))


def reject(name):
    raise ValueError(name + " is no JSON")


def indented(text):
    """The same tokens with two blanks a level."""
    out, depth, previous = [], 0, ""
    for token in TOKEN.findall(text):
        opened = previous in ("{", "[")
        if token in ("}", "]"):
            depth -= 1
            if not opened:
                out.append("\n" + "  " * depth)
        elif opened or previous == ",":
            out.append("\n" + "  " * depth)
        elif previous == ":":
            out.append(" ")
        if token in ("{", "["):
            depth += 1
        out.append(token)
        previous = token
    return "".join(out)


def usage(message):
    print("vant_agent.py: %s\nusage: vant_agent.py METHOD [JSON]" % message, file=sys.stderr)
    return 2


def main(arguments):
    if arguments in (["-h"], ["--help"]):
        print(__doc__.strip())
        return 0
    if not 1 <= len(arguments) <= 2:
        return usage("one or two arguments are known, %d were given" % len(arguments))
    method = arguments[0]
    if not method:
        return usage("METHOD is empty")
    params = compact(arguments[1]) if len(arguments) == 2 else "{}"
    if params is None:
        return usage("JSON must be an object, such as '{}' or '{\"name\":\"value\"}'")
    try:
        request = '{"version":1,"id":"py%d","method":%s,"params":%s}\n' % (os.getpid(), json.dumps(method), params)
        try:
            raw = request.encode("utf-8")
        except UnicodeEncodeError:
            return usage("the arguments are not valid UTF-8")
        line = exchange(socket_path(os.environ), raw).decode("utf-8")
        reply = parse(line)
        if not isinstance(reply, dict) or not isinstance(reply.get("ok"), bool):
            raise Failure("the host's answer is no reply")
    except Failure as failure:
        print("vant_agent.py: %s" % failure, file=sys.stderr)
        return 1
    except socket.timeout:
        print("vant_agent.py: no reply within %g s; whether the call took effect is unknown" % TIMEOUT, file=sys.stderr)
        return 1
    except (OSError, ValueError, RecursionError) as error:
        print("vant_agent.py: %s" % error, file=sys.stderr)
        return 1
    sys.stdout.buffer.write(indented(line).encode("utf-8") + b"\n")
    sys.stdout.buffer.flush()
    return 0 if reply["ok"] else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
