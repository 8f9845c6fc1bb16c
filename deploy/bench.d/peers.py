"""Fills Martlet and PocketBase with the same objects and users for deploy/bench peers. Prints the ids: `martlet <id>`, `pocketbase <id>`.

Arguments: Martlet's address, key, secret and master key; PocketBase's address and database file; how many objects to delete.
"""

import json
import sqlite3
import sys
import urllib.request
from concurrent.futures import ThreadPoolExecutor

url, key, secret, master, peer, database, deletes = sys.argv[1:]
OBJECTS, USERS, PAGE = 10_000, 8, 1_000
STATES = ("open", "closed", "done", "new")


def call(method, address, body=None, **headers):
    data = None if body is None else json.dumps(body).encode()
    headers = {name.replace("_", "-"): value for name, value in headers.items()}
    request = urllib.request.Request(address, data, {"Content-Type": "application/json", **headers}, method=method)
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.loads(answer.read() or b"null")


def document(number):
    return {"title": f"note {number}", "status": STATES[number * 7919 % 4], "priority": number * 104_729 % 1000,
            "done": number % 2 == 0, "text": "lorem ipsum dolor sit amet lorem ipsum dolor sit amet"}


def doomed(number):
    """One of the objects that are deleted. Its id is known, and as long as PocketBase's own."""
    return {"id": f"d{number:014}", **document(number)}


def user(number):
    return {"email": f"user{number}@example.org", "password": f"correct horse {number}"}


def fill_martlet(pool):
    api, headers = f"{url}/api/{key}", {"X_Martlet_Secret": secret}
    for start in range(0, OBJECTS, PAGE):
        page = call("POST", f"{api}/storage/all/Bench", [document(n) for n in range(start, start + PAGE)], **headers)
        for stored in page["data"]:
            print("martlet", stored["_id"])
    for name in ("BenchCreate", "Live"):
        call("POST", f"{api}/storage/{name}", document(0), **headers)
    for start in range(0, int(deletes), PAGE):
        page = [doomed(n) for n in range(start, min(start + PAGE, int(deletes)))]
        call("POST", f"{api}/storage/all/BenchDelete", [{"_id": each.pop("id"), **each} for each in page], **headers)
    call("POST", f"{api}/collections/Bench/indexes", {"fields": ["status", "-priority"]}, X_Martlet_Master_Key=master,
         **headers)
    list(pool.map(lambda n: call("POST", f"{api}/auth/signup", user(n), **headers), range(1, USERS + 1)))


def fill_pocketbase(pool):
    api = f"{peer}/api/collections"
    staff = call("POST", f"{api}/_superusers/auth-with-password",
                 {"identity": "bench@example.org", "password": "correct horse"})
    headers = {"Authorization": staff["token"]}
    fields = [{"name": name, "type": kind} for name, kind in
              (("title", "text"), ("status", "text"), ("priority", "number"), ("done", "bool"), ("text", "text"))]
    # Martlet's objects have times of creation and change, too.
    times = [{"name": "created", "type": "autodate", "onCreate": True},
             {"name": "updated", "type": "autodate", "onCreate": True, "onUpdate": True}]
    fields += times
    open_to_all = {rule + "Rule": "" for rule in ("list", "view", "create", "update", "delete")}
    for name in ("Bench", "BenchCreate", "BenchDelete"):
        indexes = [f"CREATE INDEX `{name}_status` ON `{name}` (`status`, `priority` DESC)"] if name == "Bench" else []
        call("POST", api, {"name": name, "type": "base", "fields": fields, "indexes": indexes, **open_to_all}, **headers)
    for name, kind in (("BenchFile", "file"), ("Live", "number")):
        fields = [{"name": kind, "type": kind}, {"name": "text", "type": "text"}, *times]
        call("POST", api, {"name": name, "type": "base", "fields": fields, **open_to_all}, **headers)
    fill_database()
    stored = pool.map(lambda n: call("POST", f"{api}/Bench/records", document(n)), range(OBJECTS))
    for each in stored:
        print("pocketbase", each["id"])
    list(pool.map(lambda n: call("POST", f"{api}/users/records", {**user(n), "passwordConfirm": user(n)["password"]},
                                 **headers), range(1, USERS + 1)))


def fill_database():
    """PocketBase takes one object a request, which takes minutes for so many."""
    columns = ", ".join(doomed(0)) + ", created, updated"
    values = "?, ?, ?, ?, ?, ?, strftime('%Y-%m-%d %H:%M:%fZ'), strftime('%Y-%m-%d %H:%M:%fZ')"
    with sqlite3.connect(database, timeout=60) as connection:
        connection.executemany(f"INSERT INTO BenchDelete ({columns}) VALUES ({values})",
                               (tuple(doomed(n).values()) for n in range(int(deletes))))
    connection.close()


with ThreadPoolExecutor(8) as pool:
    fill_martlet(pool)
    fill_pocketbase(pool)
