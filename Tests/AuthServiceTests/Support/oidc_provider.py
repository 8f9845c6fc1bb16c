# PyPI's oidc-provider-mock on a port of this machine: prints its address, and ends when its standard input does.
import sys

from oidc_provider_mock import User, run_server_in_thread

user = User(sub="foreign-1", claims={"email": "grace@example.org", "email_verified": True, "name": "Grace"})
with run_server_in_thread(user_claims=[user], require_nonce=True) as server:
    print(f"http://localhost:{server.server_port}", flush=True)
    sys.stdin.read()
