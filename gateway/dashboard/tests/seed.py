"""Fills an app with data to look at: for the browser tests and the screenshots."""

import base64
import datetime
import json
import pathlib
import random
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid


class Server:
    """A server that `martlet up` started, with the keys of its connection.json."""

    def __init__(self, connection_file):
        self.keys = json.loads(pathlib.Path(connection_file).read_text())
        self.url = self.keys["url"]
        self.app = self.keys["appId"]
        self.token = None
        # When the administrator signed in by a browser, and its cookies: see Window.sign_in.
        self.session = None

    def call(self, method, path, body=None, headers=None):
        data = body if isinstance(body, bytes) else None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, headers or {}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                text = answer.read()
        except urllib.error.HTTPError as error:
            raise RuntimeError(f"{method} {path}: {error.code} {error.read().decode()[:500]}") from error
        return json.loads(text) if text[:1] in (b"{", b"[") else text

    def sign_in(self, name=None, password=None):
        body = {"userName": name or self.keys["staffUser"], "password": password or self.keys["staffPassword"]}
        self.token = self.call("POST", "/admin/auth/login", body)["accessToken"]

    def admin(self, method, path, body=None, headers=None):
        if self.token is None:
            self.sign_in()
        return self.call(method, "/admin" + path, body, {"Authorization": "Bearer " + self.token, **(headers or {})})

    def of_app(self, method, path, body=None, headers=None):
        return self.admin(method, f"/apps/{self.app}{path}", body, headers)

    def as_client(self, method, path, body=None):
        return self.call(method, f"/api/{self.keys['appKey']}{path}", body, {"X-Martlet-Secret": self.keys["secret"]})

    def as_server(self, method, path, body=None):
        return self.call(method, f"/api/{self.keys['appKey']}{path}", body, {"X-Martlet-Master-Key": self.keys["masterKey"]})


def seed(server, random_seed=7):
    """Everything once; does nothing for an app that was filled before."""
    if server.admin("GET", f"/apps/{server.app}")["name"] == "FindMyBike":
        return
    chance = random.Random(random_seed)
    server.admin("PATCH", f"/apps/{server.app}", {"name": "FindMyBike", "bundleIds": ["org.example.findmybike"]})
    for number, state, date in [("1.0.0", "released", "2026-06-02"), ("1.1.0", "released", "2026-09-15"), ("1.2.0", "planned", None)]:
        server.of_app("POST", "/versions", {"number": number, "state": state, "releaseDate": date, "notes": {"en": f"What is new in {number}"}})
    staff(server)
    objects(server, chance)
    configuration(server)
    events(server, chance)
    crashes(server, chance)
    tickets(server)
    push(server)
    files(server)
    moderation(server)
    sign_in(server)
    server.admin("PATCH", f"/apps/{server.app}", {"name": "FindMyBike", "settings": {"seeded": True}})


def staff(server):
    rights = {server.app: {"crashes": ["read", "update"], "tickets": ["create", "read", "update"]}}
    server.admin("POST", "/staff", {"userName": "dana", "password": "a long password for dana", "mustReset": False, "rights": rights})
    areas = ["applications", "storage", "users", "config", "experiments", "languages", "analytics", "crashes", "tickets", "notifications", "staff", "audit", "status"]
    server.admin("POST", "/staff", {"userName": "vera", "password": "vera may only look", "mustReset": False, "rights": {"*": {area: ["read"] for area in areas}}})
    server.admin("POST", "/staff", {"userName": "noor", "password": "a first password for noor", "rights": {"*": {"status": ["read"]}}})


def objects(server, chance):
    brands, places = ["Brompton", "Canyon", "Diamant", "Gazelle", "Trek"], ["Bern", "Zürich", "Köln", "Dublin", "Utrecht"]
    bikes = [{
        "_id": f"bike-{index:03}", "brand": chance.choice(brands), "colour": chance.choice(["red", "black", "blue", "green"]),
        "price": chance.randint(200, 4200), "stolen": chance.random() < 0.3, "city": chance.choice(places),
        "place": {"__type": "GeoPoint", "latitude": round(46.9 + chance.random(), 4), "longitude": round(7.4 + chance.random(), 4)},
    } for index in range(300)]
    for start in range(0, len(bikes), 50):
        server.as_server("POST", "/storage/all/Bikes", bikes[start:start + 50])
    sightings = [{
        "bike": {"__type": "Pointer", "className": "Bikes", "objectId": f"bike-{chance.randint(0, 299):03}"}, "note": note, "sure": chance.random() < 0.5,
    } for note in ["Locked to a lamp post", "In front of the station", "By the river", "On a balcony, 3rd floor"] * 8]
    server.as_server("POST", "/storage/all/Sightings", sightings)
    server.as_server("PUT", "/collections/Sightings/rules", {"rules": {"find": ["*"], "get": ["*"], "create": ["authenticated"], "update": [], "delete": []}})
    for name in ["ada", "grace", "linus", "margaret"]:
        server.as_client("POST", "/auth/signup", {"userName": name, "email": f"{name}@example.org", "password": "correct horse battery", "profile": {"city": "Bern"}})


def configuration(server):
    colours = [("nav", 11, 107, 105), ("accent", 227, 154, 85), ("ground", 246, 247, 247), ("warning", 179, 38, 30), ("text", 28, 33, 33)]
    document = {
        "mainSettings": {"url": "https://findmybike.example.org", "maximumPhotos": 5, "showsMap": True},
        "colors": [dict(zip(("name", "red", "green", "blue"), colour), alpha=1) for colour in colours], "languagesList": ["en", "de"],
    }
    path = "/config/configuration/1.1.0~Light"
    server.of_app("PUT", path, document, {"If-None-Match": "*"})
    server.of_app("POST", path + "/publish", {"note": "First colours"})
    document["mainSettings"]["maximumPhotos"] = 8
    document["mainSettings"]["newSearch"] = True
    document["controllers"] = SCREENS
    server.of_app("PUT", path, document, {"If-Match": "*"})
    night = [("nav", 18, 42, 44), ("accent", 240, 178, 120), ("ground", 20, 24, 24), ("text", 232, 236, 236)]
    dark = {**document, "colors": [dict(zip(("name", "red", "green", "blue"), colour), alpha=1) for colour in night]}
    server.of_app("PUT", "/config/configuration/1.1.0~Dark", dark, {"If-None-Match": "*"})
    server.of_app("PUT", "/config/configuration/1.2.0", {"mainSettings": {}}, {"If-None-Match": "*"})
    flags = {
        "new-checkout": {"type": "boolean", "default": False, "description": "The checkout in one step"},
        "search-radius": {"type": "number", "default": 5},
        "banner": {"type": "string", "default": ""},
    }
    server.of_app("PUT", "/config/flags/default", {"flags": flags}, {"If-None-Match": "*"})
    server.of_app("POST", "/config/flags/default/publish", {"note": "First flags"})
    texts = {"greeting": ("Hello %@", "Hallo %@"), "search.title": ("Find your bike", "Finde dein Rad"), "report.send": ("Report it", "Melden"),
             "report.thanks": ("Thank you, we told the owner.", None), "map.near": ("Near you", "In deiner Nähe"), "settings.delete": ("Delete my account", None)}
    for language, index in (("en", 0), ("de", 1)):
        strings = {key: both[index] for key, both in texts.items() if both[index]}
        server.as_server("POST", "/translation", {"version": "1.1.0", "language": language, "sourceLanguage": "en", "strings": strings, "published": True})
    server.of_app("PUT", "/config/experiment/checkout", {
        "title": "One-step checkout", "state": "draft", "unit": "device", "variations": [{"key": "control"}, {"key": "one-step", "flags": {"new-checkout": True}}],
        "metrics": [{"name": "purchase"}, {"name": "returned", "goal": "decrease"}],
    }, {"If-None-Match": "*"})
    server.of_app("POST", "/config/experiment/checkout/start")
    server.of_app("PUT", "/config/experiment/checkout/metrics/purchase/observations", {"variations": {"control": {"units": 8120, "sum": 601}, "one-step": {"units": 8055, "sum": 782}}})
    server.of_app("PUT", "/config/experiment/checkout/metrics/returned/observations", {"variations": {"control": {"units": 8120, "sum": 122}, "one-step": {"units": 8055, "sum": 110}}})


SCREENS = [
    {"name": "BikeList", "parent": "0", "classType": "UITableViewController", "classProperties": {"backgroundColor": "ground", "title": "Bikes"}, "objectsList": [
        {"objectName": "title", "objectDesc": "Above the list", "objectType": "UILabel",
         "objectProperties": {"text": "Bikes near you", "textColor": "text", "fontSize": 22, "fontWeight": "semibold", "textAlignment": "left"}},
        {"objectName": "search", "objectType": "UISearchBar", "objectProperties": {"placeholder": "Brand or colour"}},
        {"objectName": "onlyStolen", "objectType": "UISwitch", "objectProperties": {"title": "Only stolen ones", "isOn": True, "onTintColor": "accent"}},
        {"objectName": "report", "objectType": "UIButton", "objectProperties": {"title": "Report a sighting", "titleColor": "nav", "borderColor": "nav", "borderWidth": 1, "cornerRadius": 8}},
    ]},
    {"name": "BikeDetail", "parent": "BikeList", "classType": "UIViewController", "classProperties": {"backgroundColor": "ground"}, "objectsList": [
        {"objectName": "photo", "objectType": "UIImageView", "objectProperties": {"image": "bike"}},
        {"objectName": "hint", "objectType": "UILabel", "objectProperties": {"text": "Seen yesterday in Bern", "textColor": "accent", "isHidden": False}},
    ]},
]


def events(server, chance):
    now = datetime.datetime.now(datetime.timezone.utc)
    batch = []
    people = [str(uuid.UUID(int=chance.getrandbits(128))) for _ in range(160)]
    for age in range(28, -1, -1):
        for person in chance.sample(people, chance.randint(18, 34) + (28 - age)):
            moment = now - datetime.timedelta(days=age, minutes=chance.randint(2, 600))
            for name in ["Opened", "Searched", "Reported", "Shared"][:chance.choice([1, 2, 2, 3, 4])]:
                batch.append({
                    "type": "track", "event": name, "anonymousId": person, "messageId": str(uuid.UUID(int=chance.getrandbits(128))),
                    "timestamp": moment.isoformat().replace("+00:00", "Z"),
                    "context": {"app": {"version": chance.choice(["1.0.0", "1.1.0", "1.1.0"])}, "os": {"name": chance.choice(["iOS", "Android"]), "version": "17.2"}, "locale": chance.choice(["de-CH", "de-DE", "en-IE"])},
                })
            screen = {**batch[-1], "type": "screen", "name": chance.choice(["Map", "Bike", "Search", "Report"]), "messageId": str(uuid.UUID(int=chance.getrandbits(128)))}
            screen.pop("event")
            batch.append(screen)
    for start in range(0, len(batch), 1500):
        server.call("POST", "/segment/v1/batch", {"batch": batch[start:start + 1500]},
                    {"Authorization": "Basic " + base64.b64encode((server.keys["ingestKey"] + ":").encode()).decode()})
    question = {"kind": "counts", "parameters": {"event": "Reported", "group": "release"}, "isOnOverview": True}
    server.of_app("PUT", "/analytics/questions/Reports%20by%20release", question)


def crashes(server, chance):
    kinds = [
        ("NSRangeException", "index 5 beyond bounds [0 .. 4]", "Fatal", "load()", "BikeList.swift", 112, 14), ("DecodingError", "no value for key 'place'", "Error", "decode(from:)", "Sighting.swift", 37, 9),
        ("URLError", "The request timed out.", "Error", "upload(photo:)", "PhotoUpload.swift", 64, 5), ("EXC_BAD_ACCESS", "Attempted to dereference null pointer", "Fatal", "draw(_:)", "MapView.swift", 201, 2),
    ]
    for name, reason, level, method, file, line, count in kinds:
        report = {"level": level, "name": name, "reason": reason, "method": method, "file": file, "line": line}
        server.as_client("POST", "/storage/TBException", [{**report, "buildVersion": chance.choice(["1.0.0", "1.1.0"])} for _ in range(count)])
    frames = [
        {"function": "main", "filename": "AppDelegate.swift", "lineno": 9, "in_app": True}, {"function": "UIApplicationMain", "package": "UIKitCore", "in_app": False},
        {"function": "CFRunLoopRunSpecific", "package": "CoreFoundation", "in_app": False}, {"function": "BikeMap.centre(on:)", "filename": "BikeMap.swift", "lineno": 88, "in_app": True},
        {"function": "BikeMap.annotation(for:)", "filename": "BikeMap.swift", "lineno": 142, "in_app": True, "pre_context": ["        let bike = bikes[index]", "        guard bike.isStolen else { return nil }"],
         "context_line": "        return annotations[bike.place!]", "post_context": ["    }", "}"]},
        {"function": "swift_runtime_unwrap_failure", "package": "libswiftCore.dylib", "in_app": False},
    ]
    event = {
        "platform": "cocoa", "level": "fatal", "release": "org.example.findmybike@1.1.0+42", "environment": "production",
        "exception": {"values": [{"type": "Fatal error", "value": "Unexpectedly found nil while unwrapping an Optional value", "mechanism": {"type": "mach", "handled": False}, "stacktrace": {"frames": frames}}]},
        "contexts": {"os": {"name": "iOS", "version": "17.2"}, "device": {"model": "iPhone15,2", "memory_size": 6000000000}},
        "breadcrumbs": [{"timestamp": time.time() - 30 + index, "category": category, "message": message} for index, (category, message) in enumerate(
            [("ui.lifecycle", "BikeMap did appear"), ("http", "GET /storage/query/Bikes 200"), ("touch", "Tapped annotation"), ("navigation", "BikeMap → BikeDetail")])],
    }
    address = f"/crash/api/{server.keys['appNumber']}/envelope/"
    for index in range(7):
        one = {**event, "event_id": uuid.UUID(int=chance.getrandbits(128)).hex, "timestamp": time.time() - 3600 * index * 9, "user": {"id": f"user-{index % 5}"}}
        header = json.dumps({"event_id": one["event_id"]})
        body = json.dumps(one)
        envelope = f"{header}\n{json.dumps({'type': 'event', 'length': len(body.encode())})}\n{body}\n"
        server.call("POST", address, envelope.encode(), {"X-Sentry-Auth": f"Sentry sentry_version=7, sentry_key={server.keys['ingestKey']}", "Content-Type": "application/x-sentry-envelope"})


def tickets(server):
    for name, color in [("map", "#2269b8"), ("checkout", "#b4590a")]:
        server.of_app("POST", "/tickets/labels", {"name": name, "color": color})
    rows = [
        ("Map is empty after paying", "bug", "urgent", "inProgress", ["map"], 3), ("Pay by invoice", "feature", "medium", "todo", ["checkout"], 5), ("Bigger buttons on the lock screen", "improvement", "low", "todo", [], 2),
        ("Search finds no umlauts", "bug", "high", "todo", [], 3), ("Photos load slowly on 3G", "bug", "medium", "onHold", [], 5), ("Ask for the frame number", "task", "medium", "complete", [], 1),
        ("Share a sighting", "feature", "high", "inProgress", ["map"], 8), ("New icon for stolen bikes", "task", "low", "complete", [], 1), ("Dark theme", "feature", "medium", "todo", [], 5),
    ]
    for title, kind, priority, status, labels, estimate in rows:
        server.of_app("POST", "/tickets", {"title": title, "type": kind, "priority": priority, "status": status, "labels": labels, "estimate": estimate})
    server.of_app("POST", "/tickets/1/comments", {"text": "Happens only after a payment with a new card. The map gets an empty list and keeps it."})
    server.of_app("PATCH", "/tickets/1", {"description": "Steps\n\n1. Pay with a new card\n2. Go back to the map\n\nThe map shows no bikes until the app is restarted."}, {"If-Match": "*"})
    monday = datetime.date.today() - datetime.timedelta(days=datetime.date.today().weekday())
    server.of_app("POST", "/tickets/sprints", {"name": "Week 48", "starts": str(monday), "ends": str(monday + datetime.timedelta(days=4))})
    server.of_app("POST", "/tickets/update", {"tickets": [1, 2, 4, 6, 7], "sprint": 1})
    server.of_app("POST", "/tickets/sprints/1/start")


def push(server):
    server.of_app("PUT", "/notifications/credentials/webpush", {"subject": "mailto:push@example.com"})
    server.of_app("PUT", "/notifications/templates/invitation", {"content": {"title": "Invitation", "body": "{{place}}?"}})
    for language, subject, text in [("", "{{name}}, somebody saw your bike", "Hello {{name}},\n\nsomebody saw your bike in {{city}}."), ("de", "{{name}}, jemand hat dein Rad gesehen", "Hallo {{name}},\n\njemand hat dein Rad in {{city}} gesehen.")]:
        server.of_app("PUT", "/notifications/mail/templates/sighting" + (f"?language={language}" if language else ""), {"subject": subject, "text": text})
    server.of_app("PUT", "/notifications/segments/german-phones", {"audience": {"platforms": ["ios", "android"], "where": {"locale": "de"}}})
    server.of_app("PUT", "/notifications/rules/order-sent", {
        "when": {"collection": "Orders", "events": ["updated"]}, "where": {"object.state": "sent"}, "to": [{"field": "object.buyer"}], "content": {"title": "On its way", "body": "{{object.number}}"}})
    server.of_app("POST", "/crashes/alerts", {"name": "Many crashes", "kind": "rate", "threshold": 20, "windowSeconds": 600, "scope": "app", "enabled": False, "target": {"type": "notification"}})
    server.of_app("POST", "/notifications/messages", {"content": {"title": "Version 1.1 is here", "body": "With a new map."}, "audience": {"everyone": True}, "due": (datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(days=3)).isoformat().replace("+00:00", "Z")})


def sign_in(server):
    server.of_app("PUT", "/auth/providers/google", {"kind": "google", "clientIDs": ["1-web.apps.googleusercontent.com", "1-ios.apps.googleusercontent.com"], "clientSecret": "GOCSPX-not-a-secret"})
    server.of_app("POST", "/auth/invitations", {"days": 14})
    server.of_app("POST", "/auth/clients", {"name": "Bike forum", "redirectUris": ["https://forum.example.org/signed-in"]})
    server.of_app("PUT", "/auth/passkeys/settings", {"rpId": "example.org", "rpName": "FindMyBike", "origins": ["https://findmybike.example.org"]})
    server.of_app("PUT", "/auth/mail/templates/sign-in/de", {"subject": "Dein Code: {{code}}", "text": "{{code}}"})


def files(server):
    picture = base64.b64decode(PICTURE)
    for path, content, kind in [("pictures/red-bike.png", picture, "image/png"), ("notes/opening-hours.txt", b"Mon to Fri, 9 to 18\n", "text/plain"), ("price-list.csv", b"bike,price\nGazelle,700\n", "text/csv")]:
        server.admin("PUT", f"/apps/{server.app}/upload/{path}", content, {"Content-Type": kind})


# Sixteen red pixels.
PICTURE = "iVBORw0KGgoAAAANSUhEUgAAAAQAAAAECAIAAAAmkwkpAAAAEElEQVR42mPYrCYHRwzEcQCa8w9xI5YsdwAAAABJRU5ErkJggg=="


def moderation(server):
    secret = {"X-Martlet-Secret": server.keys["secret"]}
    base = f"/api/{server.keys['appKey']}"
    user = server.call("POST", base + "/auth/login", {"userName": "ada", "password": "correct horse battery"}, secret)
    sightings = server.as_server("GET", "/storage/Sightings?limit=2&order=_id")["data"]
    for sighting, reason in zip(sightings, ["This is not a bike at all.", "Somebody's home address is in the note."]):
        server.call("POST", f"{base}/storage/Sightings/{sighting['_id']}/report", {"reason": reason}, {**secret, "Authorization": "Bearer " + user["accessToken"]})
    server.of_app("PUT", "/hooks/thank-finder", {"event": "afterSave", "collection": "Sightings", "url": "https://hooks.example.org/thanks"})
    server.of_app("PUT", "/roles/moderators", {"add": []})
    server.of_app("PUT", "/config/definition/kick-in", {
        "name": "Kick-In", "minClient": "1.0", "root_controller": "Main", "views": {"MainView": {"contents": [{"kind": "LabelView", "text": "Hello"}]}},
        "controllers": {"Main": {"render": "MainView"}}}, {"If-None-Match": "*"})
