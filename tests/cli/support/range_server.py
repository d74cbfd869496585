#!/usr/bin/env python3
"""A file server on the loopback that supports ranges and simulates faults of downloads.

usage: range_server.py FOLDER LOG [--drop-after BYTES] [--no-ranges]

Prints its port and serves until standard input ends. LOG gets a line per request: path, Range header, status sent.
--drop-after closes the connection of the first request after BYTES bytes of its body.
"""
import hashlib
import http.server
import os
import sys
import threading


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        path = os.path.join(FOLDER, self.path.lstrip("/"))
        asked = self.headers.get("Range")
        if not os.path.isfile(path):
            self.log_line(asked, 404)
            self.send_error(404)
            return
        with open(path, "rb") as file:
            content = file.read()
        etag = '"' + hashlib.sha256(content).hexdigest()[:16] + '"'
        first = 0
        if asked and RANGES and self.headers.get("If-Range") == etag:
            first = int(asked.removeprefix("bytes=").rstrip("-"))
        self.reply(content, first, etag, asked)

    def reply(self, content, first, etag, asked):
        status = 416 if first >= len(content) > 0 else 206 if first else 200
        self.log_line(asked, status)
        self.send_response(status)
        self.send_header("ETag", etag)
        if status == 416:
            self.send_header("Content-Range", f"bytes */{len(content)}")
        if status == 206:
            self.send_header("Content-Range", f"bytes {first}-{len(content) - 1}/{len(content)}")
        body = b"" if status == 416 else content[first:]
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if DROPS:
            body = body[:DROPS.pop()]
            self.close_connection = True
        self.wfile.write(body)

    def log_line(self, asked, status):
        with open(LOG, "a", encoding="utf-8") as log:
            log.write(f"{self.path} {asked or '-'} {status}\n")

    def log_message(self, *_):
        pass


FOLDER, LOG = sys.argv[1], sys.argv[2]
RANGES = "--no-ranges" not in sys.argv
DROPS = [int(sys.argv[sys.argv.index("--drop-after") + 1])] if "--drop-after" in sys.argv else []
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
sys.stdout.write(f"{server.server_address[1]}\n")  # one write: the reader closes the pipe after the first
sys.stdout.flush()
sys.stdin.read()
