#!/usr/bin/python3
"""HTTP/1.1 servers on loopback for the tests, plain and with TLS of their own authority, and one that does what it is told.

Prints one line of JSON {"http": port, "https": {"good": port, "expired": port, "otherHost": port, "selfSigned": port},
"authority": PEM}, then {"method", "path", "headers"} for each request, and ends when its input does.
"""
import base64
import gzip
import json
import os
import socket
import ssl
import struct
import subprocess
import sys
import tempfile
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1

    def log_message(self, *_):
        pass

    def answer(self, status=200, body=b"", headers=()):
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def body(self):
        if "chunked" in self.headers.get("Transfer-Encoding", ""):
            parts = []
            while size := int(self.rfile.readline().split(b";")[0], 16):
                parts.append(self.rfile.read(size))
                self.rfile.readline()
            self.rfile.readline()
            return b"".join(parts)
        return self.rfile.read(int(self.headers.get("Content-Length", 0)))

    def handle_any(self):
        url = urlsplit(self.path)
        query = parse_qs(url.query, keep_blank_values=True)
        first = {name: values[0] for name, values in query.items()}
        body = self.body()
        note({"method": self.command, "path": self.path, "headers": list(self.headers.items())})
        action = getattr(self, "do_" + url.path.strip("/").replace("-", "_").split("/")[0], None)
        if action is None:
            return self.answer(404, b"no such place", [("Content-Type", "text/plain")])
        return action(url, query, first, body)

    do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = do_PROPFIND = handle_any

    def do_echo(self, url, query, first, body):
        text = {
            "method": self.command, "path": url.path, "query": url.query, "headers": list(self.headers.items()),
            "body": base64.b64encode(body).decode(), "address": self.client_address[0],
        }
        self.answer(200, json.dumps(text).encode(), [("Content-Type", "application/json")])

    def do_status(self, url, query, first, body):
        self.answer(int(url.path.split("/")[2]), b"the status", [("Content-Type", "text/plain")])

    def do_redirect(self, url, query, first, body):
        self.answer(int(first.get("status", 302)), b"elsewhere", [("Location", first["to"])])

    def do_loop(self, url, query, first, body):
        self.answer(302, b"", [("Location", "/loop?n=%d" % (int(first.get("n", 0)) + 1))])

    def do_content(self, url, query, first, body):
        """Bytes of the caller's choice: ?base64=…&type=…"""
        headers = [("Content-Type", first["type"])] if "type" in first else []
        self.answer(200, base64.b64decode(first.get("base64", "")), headers)

    def do_bytes(self, url, query, first, body):
        """?n=: so many bytes, of which number i is i % 251; with Range."""
        size = int(first["n"])
        start, end, status = 0, size, 200
        headers = [("Accept-Ranges", "bytes"), ("ETag", first.get("etag", '"1"'))]
        asked = self.headers.get("Range", "")
        condition = self.headers.get("If-Range")
        if asked.startswith("bytes=") and condition in (None, first.get("etag", '"1"')) and "norange" not in first:
            left, _, right = asked[6:].partition("-")
            start, end, status = int(left), min(size, int(right) + 1 if right else size), 206
            if start >= size:
                return self.answer(416, b"", [("Content-Range", "bytes */%d" % size)])
            headers.append(("Content-Range", "bytes %d-%d/%d" % (start, end - 1, size)))
        self.send_response(status)
        for name, value in headers + [("Content-Length", str(end - start))]:
            self.send_header(name, value)
        self.end_headers()
        cut = int(first["cut"]) if "cut" in first and status == 200 else None
        pattern = bytes(i % 251 for i in range(251 * 1024))
        sent = 0
        while start < end:
            offset = start % 251
            piece = pattern[offset:offset + min(end - start, 64 * 1024)]
            if cut is not None and sent + len(piece) > cut:
                self.wfile.write(piece[:cut - sent])
                self.wfile.flush()
                return self.reset()
            self.wfile.write(piece)
            start += len(piece)
            sent += len(piece)
            if "slow" in first:
                time.sleep(int(first["slow"]) / 1000)

    def do_gzip(self, url, query, first, body):
        """?n=: so many zeros, compressed."""
        packed = gzip.compress(bytes(int(first["n"])))
        self.answer(200, packed, [("Content-Encoding", "gzip"), ("Content-Type", "application/octet-stream")])

    def do_set_cookie(self, url, query, first, body):
        self.answer(200, b"", [("Set-Cookie", line) for line in query.get("line", [])])

    def do_play(self, url, query, first, body):
        """?plan=: Base64 of [["send", base64], ["wait", ms], ["reset"], ["stall"]], done to the bare connection."""
        self.play(json.loads(base64.b64decode(first["plan"])))

    def do_rounds(self, url, query, first, body):
        """?key=&plans=: the first request with that key gets the first of the plans, and so on; the last stays."""
        plans = json.loads(base64.b64decode(first["plans"]))
        with lock:
            number = rounds.get(first["key"], 0)
            rounds[first["key"]] = number + 1
        self.play(plans[min(number, len(plans) - 1)])

    def do_flood(self, url, query, first, body):
        """?n=: so many events of a thousand bytes; notes how many have left, at the end."""
        self.close_connection = True
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 65536)
        self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n")
        self.connection.settimeout(2)
        sent = 0
        try:
            for sent in range(int(first["n"])):
                self.wfile.write(b"id: %d\ndata: %s\n\n" % (sent, b"x" * 1000))
                self.wfile.flush()
        except OSError:
            note({"stopped": sent})
            return
        note({"sent": sent + 1})

    def play(self, plan):
        self.close_connection = True
        for step in plan:
            if step[0] == "send":
                self.wfile.write(base64.b64decode(step[1]))
                self.wfile.flush()
            elif step[0] == "wait":
                time.sleep(step[1] / 1000)
            elif step[0] == "reset":
                return self.reset()
            elif step[0] == "stall":
                self.connection.settimeout(60)
                try:
                    self.rfile.read(1)
                except OSError:
                    pass
                note({"ended": self.path})

    def reset(self):
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close_connection = True
        self.connection.close()


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request, client_address):
        pass


lock = threading.Lock()
rounds = {}


def note(line):
    with lock:
        try:
            print(json.dumps(line), flush=True)
        except BrokenPipeError:
            os._exit(0)


def certificates(folder):
    """An authority and what it signs, in files of the folder."""
    def openssl(*arguments):
        subprocess.run(["openssl", *arguments], cwd=folder, check=True, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)

    openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", "ca.key", "-out", "ca.pem", "-days", "2",
            "-subj", "/CN=Test authority")
    names = {"good": "DNS:localhost,IP:127.0.0.1,IP:::1", "otherHost": "DNS:elsewhere.example",
             "expired": "DNS:localhost,IP:127.0.0.1"}
    openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", "selfSigned.key", "-out", "selfSigned.pem",
            "-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1")
    for name, hosts in names.items():
        with open(os.path.join(folder, name + ".ext"), "w", encoding="ascii") as file:
            file.write("subjectAltName=%s\n" % hosts)
        openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", name + ".key", "-out", name + ".csr", "-subj",
                "/CN=" + name)
        days = "-1" if name == "expired" else "1"
        openssl("x509", "-req", "-in", name + ".csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days",
                days, "-extfile", name + ".ext", "-out", name + ".pem")


def serve(context=None):
    server = Server(("127.0.0.1", 0), Handler)
    if context:
        # Handshakes belong to the connection's thread: one that hangs is no matter of others.
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server.server_address[1]


def main():
    with tempfile.TemporaryDirectory(prefix="apsule-web-") as folder:
        certificates(folder)
        ports = {}
        for name in ["good", "expired", "otherHost", "selfSigned"]:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(os.path.join(folder, name + ".pem"), os.path.join(folder, name + ".key"))
            ports[name] = serve(context)
        with open(os.path.join(folder, "ca.pem"), encoding="ascii") as file:
            authority = file.read()
        note({"http": serve(), "https": ports, "authority": authority})
        sys.stdin.buffer.read()


if __name__ == "__main__":
    main()
