# An app's own server: verifies every request with PyPI's standardwebhooks. Arguments: a file that names its address, one with the hooks'
# secrets by name, one for what it is told. The first attempt of each delivery fails.
import json
import os
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from standardwebhooks.webhooks import Webhook, WebhookVerificationError

address, secrets, told = sys.argv[1:4]
seen = set()


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        message = json.loads(body)
        with open(secrets) as file:
            secret = json.load(file)[message["hook"]]
        try:
            Webhook(secret).verify(body, dict(self.headers.items()))
        except WebhookVerificationError:
            return self.answer(500, {"error": "forged"})
        if message["event"] == "function":
            return self.answer(200, {"result": {"sum": sum(message["params"]), "user": message["user"]}})
        if message["event"].startswith("before"):
            return self.answer(200, {"error": "bad"} if (message["object"] or {}).get("bad") else {})
        if self.headers["webhook-id"] not in seen:
            seen.add(self.headers["webhook-id"])
            return self.answer(500, {})
        with open(told, "a") as file:
            file.write(message["object"]["_id"] + "\n")
        return self.answer(200, {})

    def answer(self, status, body):
        text = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)


server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
with open(address + ".new", "w") as file:
    file.write("http://127.0.0.1:%d/" % server.server_port)
os.rename(address + ".new", address)
server.serve_forever()
