# A mail server on three free ports of 127.0.0.1: without TLS, with required STARTTLS, and with TLS from the start. The latter two require the
# user "shop" with the password "a secret of mail". The argument is a folder, in which it writes certificate.pem and then the ports as ports.json.
# Each message becomes a line of JSON in a file named after its recipient. The recipient's name determines the answer:
# refuse…: 550 for the recipient; blocked…: 550 for other reasons; content…: 554 after the message; later…: 451 the first time, then accepted.
# The server ends and removes the folder when its standard input closes.
import asyncio
import datetime
import ipaddress
import json
import os
import shutil
import ssl
import sys
from email import policy
from email.parser import BytesParser

from aiosmtpd.smtp import SMTP, AuthResult
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

folder = sys.argv[1]
seen = set()


class Handler:
    def __init__(self, port):
        self.port = port

    async def handle_RCPT(self, server, session, envelope, address, options):
        if address.startswith("refuse"):
            return "550 5.1.1 nobody of this name"
        if address.startswith("blocked"):
            return "550 5.7.1 not from you"
        envelope.rcpt_tos.append(address)
        return "250 fine"

    async def handle_DATA(self, server, session, envelope):
        recipient = envelope.rcpt_tos[0]
        if recipient.startswith("content"):
            return "554 5.6.0 not this"
        if recipient.startswith("later") and recipient not in seen:
            seen.add(recipient)
            return "451 4.7.1 come back later"
        message = BytesParser(policy=policy.default).parsebytes(envelope.content)
        text, html = message.get_body(("plain",)), message.get_body(("html",))
        mail = {
            "port": self.port,
            "user": session.auth_data,
            "from": envelope.mail_from,
            "to": envelope.rcpt_tos,
            "headers": {name.lower(): str(value) for name, value in message.items()},
            "headerCount": len(message.items()),
            "defects": [str(defect) for defect in message.defects],
            "text": text.get_content().replace("\r\n", "\n") if text else None,
            "html": html.get_content().replace("\r\n", "\n") if html else None,
            "longestLine": max(len(line) for line in envelope.content.split(b"\r\n")),
            "isASCII": envelope.content.isascii(),
        }
        with open(os.path.join(folder, recipient), "a") as file:
            file.write(json.dumps(mail) + "\n")
        return "250 taken"


def authenticate(server, session, envelope, mechanism, data):
    is_right = (data.login, data.password) == (b"shop", b"a secret of mail")
    return AuthResult(success=is_right, handled=False, auth_data=data.login.decode() if is_right else None)


def make_certificate():
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "mail of the tests")])
    now = datetime.datetime.now(datetime.timezone.utc)
    certificate = (
        x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1)).not_valid_after(now + datetime.timedelta(days=2))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), True)
        .sign(key, hashes.SHA256())
    )
    paths = [os.path.join(folder, name) for name in ("certificate.pem", "key.pem")]
    with open(paths[0], "wb") as file:
        file.write(certificate.public_bytes(serialization.Encoding.PEM))
    with open(paths[1], "wb") as file:
        file.write(key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*paths)
    return context


async def serve():
    context = make_certificate()
    loop = asyncio.get_running_loop()
    login = {"authenticator": authenticate, "auth_required": True}
    kinds = {
        "off": ({}, None),
        "starttls": ({"tls_context": context, "require_starttls": True, **login}, None),
        "tls": ({"auth_require_tls": False, **login}, context),
    }
    ports = {}
    for name, (options, tls) in kinds.items():
        server = await loop.create_server(lambda name=name, options=options: SMTP(Handler(name), **options), "127.0.0.1", 0, ssl=tls)
        ports[name] = server.sockets[0].getsockname()[1]
    with open(os.path.join(folder, "ports.new"), "w") as file:
        json.dump(ports, file)
    os.rename(os.path.join(folder, "ports.new"), os.path.join(folder, "ports.json"))
    await loop.run_in_executor(None, sys.stdin.read)


asyncio.run(serve())
shutil.rmtree(folder, ignore_errors=True)
