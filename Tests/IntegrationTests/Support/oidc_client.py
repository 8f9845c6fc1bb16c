# Another application that lets users of the app sign in, by PyPI's authlib as it is. Arguments: the issuer, the app's address, its master key, its
# secret. What a person does in a browser is done with plain HTTP.
import json
import sys
import time
from urllib.parse import parse_qs, urlsplit

import requests
from authlib.integrations.base_client import OAuthError
from authlib.integrations.requests_client import OAuth2Session
from authlib.oidc.core import CodeIDToken
from joserfc import jwt
from joserfc.jwk import KeySet
from oidc_pages import check, walk
from requests_oauthlib import OAuth2Session as RequestsOAuth2Session

issuer, app, master_key, secret = sys.argv[1:5]
REDIRECT = "https://calendar.example/back"
GOODBYE = "https://calendar.example/bye"
SCOPE = "openid profile email offline_access"


def management(method, path, body):
    answer = requests.request(method, app + path, json=body, headers={"X-Martlet-Master-Key": master_key}, timeout=30)
    check(answer.status_code in (200, 201), answer.text)
    return answer.json()


def retrying(body):
    """Repeats a call until it succeeds: the gateway learns of new apps and keys within seconds."""
    for attempt in range(50):
        answer = body()
        if answer.status_code == 200:
            return answer
        time.sleep(0.2)
    raise AssertionError(answer.text)


metadata = retrying(lambda: requests.get(issuer + "/.well-known/openid-configuration", timeout=30)).json()
check(metadata["issuer"] == issuer, metadata)
parts = urlsplit(issuer)
oauth = requests.get("%s://%s/.well-known/oauth-authorization-server%s" % (parts.scheme, parts.netloc, parts.path), timeout=30)
check(oauth.json() == metadata, "RFC 8414")

user = requests.post(
    app + "/auth/signup", headers={"X-Martlet-Secret": secret}, timeout=30,
    json={"userName": "ada", "email": "ada@example.org", "password": "correct horse", "profile": {"name": "Ada Lovelace"}}).json()["user"]

for method, algorithm in (("client_secret_basic", "RS256"), ("client_secret_post", "ES256"), ("none", "RS256")):
    kind = "public" if method == "none" else "confidential"
    registered = management("POST", "/auth/clients", {
        "name": "Calendar", "type": kind, "redirectUris": [REDIRECT], "postLogoutRedirectUris": [GOODBYE], "idTokenSignedResponseAlg": algorithm})
    client = OAuth2Session(
        registered["id"], registered.get("secret"), scope=SCOPE, redirect_uri=REDIRECT, token_endpoint_auth_method=method,
        revocation_endpoint_auth_method=method, code_challenge_method="S256")
    verifier = "v" * 48
    address, state = client.create_authorization_url(metadata["authorization_endpoint"], code_verifier=verifier, nonce="n-1")
    browser = requests.Session()
    back = walk(browser, address)
    check(parse_qs(urlsplit(back).query)["iss"] == [issuer], back)
    token = client.fetch_token(metadata["token_endpoint"], authorization_response=back, code_verifier=verifier, state=state)
    check(token["token_type"] == "Bearer" and token["scope"] == SCOPE, token)

    keys = KeySet.import_key_set(requests.get(metadata["jwks_uri"], timeout=30).json())
    decoded = jwt.decode(token["id_token"], keys, algorithms=[algorithm])
    claims = CodeIDToken(
        decoded.claims, decoded.header,
        options={"iss": {"essential": True, "value": issuer}, "aud": {"essential": True, "value": registered["id"]}},
        params={"nonce": "n-1", "client_id": registered["id"], "access_token": token["access_token"]})
    claims.validate()
    check(claims["sub"] == user["id"], claims)

    info = client.get(metadata["userinfo_endpoint"], timeout=30).json()
    check(info["sub"] == user["id"] and info["name"] == "Ada Lovelace" and info["email"] == "ada@example.org", info)
    check(info["preferred_username"] == "ada" and info["email_verified"] is False, info)

    old = client.token["access_token"]
    fresh = client.refresh_token(metadata["token_endpoint"], refresh_token=token["refresh_token"])
    check(fresh["refresh_token"] != token["refresh_token"] and fresh["access_token"] != old, "not rotated")
    check(client.get(metadata["userinfo_endpoint"], timeout=30).status_code == 200, "fresh token")

    # Signed in with this browser, and allowed before: nobody is asked.
    silent, _ = client.create_authorization_url(metadata["authorization_endpoint"], code_verifier=verifier, prompt="none")
    check("code=" in walk(browser, silent), "silent")

    # Signs out of the provider, too. Offline access, which the user allowed, continues.
    leaving = {"id_token_hint": token["id_token"], "post_logout_redirect_uri": GOODBYE, "state": "s"}
    left = browser.get(metadata["end_session_endpoint"], params=leaving, allow_redirects=False, timeout=30)
    check(left.status_code == 303 and left.headers["location"] == GOODBYE + "?state=s", left.text)
    check("error=login_required" in walk(browser, silent), "signed out")

    if method != "none":
        active = client.introspect_token(metadata["introspection_endpoint"], token=fresh["access_token"]).json()
        check(active["active"] is True and active["sub"] == user["id"], active)
    revoked = client.revoke_token(metadata["revocation_endpoint"], token=fresh["refresh_token"], token_type_hint="refresh_token")
    check(revoked.status_code == 200, revoked.text)
    check(requests.get(metadata["userinfo_endpoint"], headers={"Authorization": "Bearer " + fresh["access_token"]}, timeout=30).status_code == 401, "revoked")

    try:
        client.fetch_token(metadata["token_endpoint"], authorization_response=back, code_verifier=verifier, state=state)
        raise AssertionError("the code was good twice")
    except OAuthError as error:
        check(error.error == "invalid_grant", error)

# An access token and an ID token of the provider open nothing of the app's.
for foreign in (token["access_token"], token["id_token"]):
    answer = requests.get(app + "/auth/me", headers={"X-Martlet-Secret": secret, "Authorization": "Bearer " + foreign}, timeout=30)
    check(answer.status_code == 401 and answer.json()["code"] == "invalid-token", answer.text)

# requests-oauthlib, with its own PKCE.
registered = management("POST", "/auth/clients", {"name": "Mail", "redirectUris": [REDIRECT], "scopes": ["openid", "email"]})
client = RequestsOAuth2Session(registered["id"], scope=["openid", "email"], redirect_uri=REDIRECT, pkce="S256")
address, _ = client.authorization_url(metadata["authorization_endpoint"])
token = client.fetch_token(metadata["token_endpoint"], authorization_response=walk(requests.Session(), address), client_secret=registered["secret"])
info = client.get(metadata["userinfo_endpoint"], timeout=30).json()
check(info == {"sub": user["id"], "email": "ada@example.org", "email_verified": False}, info)
print(json.dumps({"user": user["id"], "client": registered["id"]}))
