# Another program that reports crashes, by PyPI's sentry-sdk as it is. Arguments: the DSN, and what to do: "report" or "flood". Writes what it sent as JSON.
import json
import sys
import threading

import sentry_sdk
from sentry_sdk.envelope import Envelope
from sentry_sdk.sessions import Session

dsn, act = sys.argv[1:3]
answers = []


def check(condition, what):
    if not condition:
        raise AssertionError(what)


def init(**options):
    sentry_sdk.init(dsn, release="shop@1.2.0+3", environment="it", traces_sample_rate=1.0, shutdown_timeout=20, **options)
    transport = sentry_sdk.get_client().transport
    # What the server answered, which the client looks at and tells nobody.
    handle = transport._handle_response

    def remember(response, envelope):
        answers.append([[item.type for item in envelope.items] if envelope else [], response.status, response.headers.get("X-Sentry-Rate-Limits")])
        return handle(response=response, envelope=envelope)

    transport._handle_response = remember
    return transport


class Cart:
    def add(self, number):
        password = "".join(["not ", "to be kept"])
        return 1 / (number - number)


def crash():
    try:
        Cart().add(3)
    except ZeroDivisionError:
        return sentry_sdk.capture_exception()


def report():
    transport = init(send_default_pii=True)
    # As it is by itself where PyPI's brotli is installed.
    check(transport._compression_algo == "br", transport._compression_algo)
    sentry_sdk.set_user({"id": "user-1", "email": "ann@example.com", "ip_address": "{{auto}}"})
    sentry_sdk.set_tag("martlet.config", "12")
    sentry_sdk.set_context("martlet", {"variants": {"checkout": "dark"}})
    sentry_sdk.add_breadcrumb(message="tapped", category="ui")
    first = crash()
    second = crash()
    message = sentry_sdk.capture_message("order 17 of ann@example.com failed", level="warning")
    with sentry_sdk.new_scope() as scope:
        scope.fingerprint = ["by hand"]
        scope.add_attachment(bytes=b"hello", filename="hello.txt")
        own = sentry_sdk.capture_message("anything")
    with sentry_sdk.start_transaction(name="checkout", op="task"):
        pass
    for status in ("exited", "crashed"):
        session = Session(release="shop@1.2.0+3", environment="it", user={"id": "user-" + status}, session_mode="application")
        session.update(status=status)
        envelope = Envelope()
        envelope.add_session(session)
        sentry_sdk.get_client().transport.capture_envelope(envelope)
    sentry_sdk.flush(20)
    check(all(status == 200 for _, status, _ in answers), answers)
    check({kind for kinds, _, _ in answers for kind in kinds} >= {"event", "transaction", "session", "attachment"}, answers)
    return {"crashes": [first, second], "message": message, "own": own}


def flood():
    transport = init(_experiments={"transport_compression_algo": "gzip"})
    for number in range(60):
        sentry_sdk.capture_message("flood %d" % number)
        sentry_sdk.flush(20)
    limited = [answer for answer in answers if answer[1] == 429]
    taken = [answer for answer in answers if answer[1] == 200 and "event" in answer[0]]
    # A minute may end in between.
    check(1 <= len(limited) <= 2 and "error;default" in limited[0][2], answers)
    check(transport.is_healthy() is False, "the client knows of the limit")
    sent = len(answers)
    # Errors are dropped without being sent; everything else is still sent.
    sentry_sdk.capture_message("dropped")
    with sentry_sdk.start_transaction(name="goes on", op="task"):
        pass
    sentry_sdk.flush(20)
    later = [answer for answer in answers[sent:] if "event" in answer[0]]
    check(later == [], later)
    check(any("transaction" in kinds and status == 200 for kinds, status, _ in answers[sent:]), answers[sent:])
    # The client's own count comes with the next envelope, half a minute later unless it is asked for.
    transport._flush_client_reports(force=True)
    sentry_sdk.flush(20)
    return {"taken": len(taken)}


print(json.dumps({"report": report, "flood": flood}[act]()))
sentry_sdk.get_client().close(timeout=5)
