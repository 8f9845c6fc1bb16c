# Other programs that send events: PyPI's segment-analytics-python and rudder-sdk-python as they are.
# Arguments: where they send to, the ingest key.
import sys
import time

import requests
import rudderstack.analytics.client as rudder
import rudderstack.analytics.request as rudder_request
import segment.analytics.client as segment
import segment.analytics.request as segment_request

host, key = sys.argv[1:3]
failures = []


def failed(error, items):
    failures.append(repr(error))


for attempt in range(50):
    # The gateway learns of new keys within seconds.
    if requests.post(host + "/v1/batch", json={"batch": []}, auth=(key, ""), timeout=30).status_code == 200:
        break
    time.sleep(0.2)

# A wrong key is an error that they understand and do not send again, rather than a network that failed.
for request in (rudder_request, segment_request):
    try:
        request.post("mi_live_wrong", host, batch=[])
        raise SystemExit("a wrong key was taken")
    except request.APIError as error:
        if error.status != 401 or error.code != "unauthorized" or not error.message:
            raise SystemExit("not understood: %r %s" % (error.code, error))

clients = {
    "segment": segment.Client(key, host=host, on_error=failed, gzip=True, upload_size=50),
    "rudder": rudder.Client(key, host=host, on_error=failed, gzip=True, upload_size=50),
}
for name, client in clients.items():
    context = {"app": {"version": "1.2", "build": "7"}, "os": {"name": "iOS", "version": "17.2"}, "locale": "de_CH"}
    for number in range(250):
        client.track("%s-user" % name, "Bought", {"client": name, "number": number, "price": 4.5}, context)
    client.screen("%s-user" % name, "App", "Home", {"client": name})
    client.page("%s-user" % name, "Site", "Start", {"client": name})
    client.identify("%s-user" % name, {"name": "Ann" if name == "segment" else "Bob"})
    client.group("%s-user" % name, "group-1", {"size": 3})
    # Positional: one calls the second user_id, the other userId.
    client.alias("%s-before" % name, "%s-user" % name)
for client in clients.values():
    client.flush()
    client.join()
if failures:
    raise SystemExit("not sent: %s" % failures[:5])
print("done")
