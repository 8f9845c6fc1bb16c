# A trace collector that reads OTLP with PyPI's opentelemetry-proto. Arguments: a file that names its address, one for a line about
# each span, one for the bodies as received, and the token that each request must have.
import base64
import json
import os
import sys
import threading
import traceback
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from google.protobuf import json_format
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest, ExportTraceServiceResponse
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

address, told, bodies, token = sys.argv[1:5]
lock = threading.Lock()


def standard(value):
    """The same JSON with ids in base64: OTLP alone writes these bytes in hexadecimal, protobuf's own mapping does not."""
    if isinstance(value, list):
        return [standard(part) for part in value]
    if not isinstance(value, dict):
        return value
    return {
        key: base64.b64encode(bytes.fromhex(part)).decode() if key in ("traceId", "spanId", "parentSpanId") else standard(part)
        for key, part in value.items()
    }


def read(body):
    """A line for each span: process, trace, span, parent, name."""
    # Refuses unknown members and wrong types.
    request = json_format.Parse(json.dumps(standard(json.loads(body))), ExportTraceServiceRequest())
    lines = []
    for part in request.resource_spans:
        resource = {attribute.key: attribute.value.string_value for attribute in part.resource.attributes}
        assert resource["service.instance.id"] and resource["service.version"], resource
        for span in part.scope_spans[0].spans:
            attributes = {attribute.key: attribute.value for attribute in span.attributes}
            status = attributes.get("http.response.status_code")
            assert len(span.trace_id) == 16 and len(span.span_id) == 8 and len(span.parent_span_id) in (0, 8)
            assert span.kind == Span.SPAN_KIND_SERVER and attributes["http.request.method"].string_value
            assert 0 < span.start_time_unix_nano <= span.end_time_unix_nano
            assert (span.status.code == Status.STATUS_CODE_ERROR) == (status is None or status.int_value >= 500)
            ids = [span.trace_id.hex(), span.span_id.hex(), span.parent_span_id.hex() or "-"]
            lines.append(" ".join([resource["service.name"], *ids, span.name]) + "\n")
    return lines


class Collector(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        length = int(self.headers["content-length"])
        body = self.rfile.read(length)
        if len(body) < length:
            # The process was killed while it sent this.
            self.close_connection = True
            return
        status, lines = 200, []
        try:
            assert self.path == "/v1/traces" and self.headers["content-type"] == "application/json"
            assert self.headers["authorization"] == "Bearer " + token
            lines = read(body)
        except Exception:
            traceback.print_exc()
            status, lines = 400, ["refused - - - -\n"]
        with lock:
            with open(bodies, "ab") as file:
                file.write(body + b"\n")
            with open(told, "a") as file:
                file.writelines(lines)
        answer = json_format.MessageToJson(ExportTraceServiceResponse()).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *arguments):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Collector)
with open(address + ".new", "w") as file:
    file.write("http://127.0.0.1:%d" % server.server_port)
os.rename(address + ".new", address)
server.serve_forever()
