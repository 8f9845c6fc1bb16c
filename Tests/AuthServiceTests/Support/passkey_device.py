# Drives a third-party authenticator (PyPI's soft-webauthn) as a browser would. Each line of standard input is
# {"do": "create" | "get", "options": …, "origin": …}, with options as the server sent them. Each line of output is the
# credential as PublicKeyCredential.toJSON() writes it, or {"error": …}.
import base64
import json
import sys

from soft_webauthn import SoftWebauthnDevice


def decode(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def encode(value):
    if isinstance(value, bytes):
        return base64.urlsafe_b64encode(value).decode().rstrip("=")
    if isinstance(value, dict):
        return {name: encode(member) for name, member in value.items()}
    return value


device = SoftWebauthnDevice()
for line in sys.stdin:
    call = json.loads(line)
    options = call["options"]
    options["challenge"] = decode(options["challenge"])
    try:
        if call["do"] == "create":
            options["user"]["id"] = decode(options["user"]["id"])
            made = device.create({"publicKey": options}, call["origin"])
        else:
            made = device.get({"publicKey": options}, call["origin"])
        credential = encode(made)
        credential["id"] = credential["rawId"]
    except Exception as error:
        credential = {"error": repr(error)}
    print(json.dumps(credential), flush=True)
