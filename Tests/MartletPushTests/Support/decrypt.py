"""Decrypts Web Push messages as another program: each line of the input is JSON with key, auth and body (base64url), each of the output the text."""
import base64
import json
import sys

import http_ece
from cryptography.hazmat.primitives.asymmetric import ec


def decoded(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


for line in sys.stdin:
    case = json.loads(line)
    key = ec.derive_private_key(int.from_bytes(decoded(case["key"]), "big"), ec.SECP256R1())
    text = http_ece.decrypt(decoded(case["body"]), private_key=key, auth_secret=decoded(case["auth"]), version="aes128gcm")
    print(json.dumps(text.decode()))
