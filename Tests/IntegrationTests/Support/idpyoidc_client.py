# Another application that lets users of the app sign in, by PyPI's idpyoidc as it is: it finds everything by discovery, and verifies ID tokens by RS256.
# Arguments: the issuer, the app's address, its master key, its secret.
import json
import sys
import tempfile
import time
from urllib.parse import parse_qs, urlsplit

import requests
from idpyoidc.client.rp_handler import RPHandler
from oidc_pages import check, walk

issuer, app, master_key, secret = sys.argv[1:5]
# A program on a desk that keeps a secret.
REDIRECT = "http://127.0.0.1:8123/back"
SCOPE = ["openid", "profile", "email", "offline_access"]

for attempt in range(50):
    if requests.get(issuer + "/.well-known/openid-configuration", timeout=30).status_code == 200:
        break
    time.sleep(0.2)

user = requests.post(
    app + "/auth/signup", headers={"X-Martlet-Secret": secret}, timeout=30,
    json={"userName": "idpy", "email": "idpy@example.org", "password": "correct horse", "profile": {"name": "Ida Py"}}).json()["user"]
answer = requests.post(
    app + "/auth/clients", headers={"X-Martlet-Master-Key": master_key}, timeout=30, json={"name": "Desk", "redirectUris": [REDIRECT]})
check(answer.status_code == 201 and answer.json()["idTokenSignedResponseAlg"] == "RS256", answer.text)
registered = answer.json()

folder = tempfile.mkdtemp()
handler = RPHandler(
    base_url="http://127.0.0.1:8123",
    key_conf={"private_path": folder + "/private.json", "key_defs": [{"type": "RSA", "use": ["sig"]}], "public_path": folder + "/public.json"},
    client_configs={
        issuer: {
            "client_type": "oidc", "issuer": issuer, "client_id": registered["id"], "client_secret": registered["secret"],
            "redirect_uris": [REDIRECT], "scopes_supported": SCOPE, "response_types_supported": ["code"],
            "token_endpoint_auth_methods_supported": ["client_secret_basic"], "client_authn_methods": ["client_secret_basic"],
            "add_ons": {
                "pkce": {
                    "function": "idpyoidc.client.oauth2.add_on.pkce.add_support",
                    "kwargs": {"code_challenge_length": 64, "code_challenge_method": "S256"},
                }
            },
        }
    },
)

browser = requests.Session()


def sign_in(back):
    """Goes through the provider's pages, and lets the library make tokens of the answer."""
    parameters = {name: values[0] for name, values in parse_qs(urlsplit(back).query).items()}
    done = handler.finalize(issuer, parameters)
    check("error" not in done, done)
    check(done["id_token"]["sub"] == user["id"] and done["id_token"]["iss"] == issuer, done)
    check(done["id_token"].jws_header["alg"] == "RS256", done["id_token"].jws_header)
    check(done["userinfo"]["email"] == "idpy@example.org" and done["userinfo"]["name"] == "Ida Py", done["userinfo"])
    return parameters["state"]


def begin(scope):
    started = handler.begin(issuer, req_args={"scope": scope})
    return started["url"] if isinstance(started, dict) else started


state = sign_in(walk(browser, begin(SCOPE), name="idpy"))
fresh = handler.refresh_access_token(state)
check(fresh["access_token"] and fresh["refresh_token"], fresh)

# The user has consented already. The client has a secret, so the user is not asked again, although the redirect address is on this machine. (With
# offline_access the library itself requests consent.)
again = browser.get(begin(SCOPE[:3]), allow_redirects=False, timeout=30)
check(again.status_code == 303 and again.headers["location"].startswith(REDIRECT + "?code="), again.text)
sign_in(again.headers["location"])
print(json.dumps({"user": user["id"], "client": registered["id"]}))
