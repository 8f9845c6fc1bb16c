#!/usr/bin/env python3
"""Takes a picture of every page, light, dark and on a phone: screenshots.py FOLDER [NAME…]

screenshots.py --docs FOLDER takes only those that stand in the documentation, light, as FOLDER/NAME.png.
"""

import os
import pathlib
import sys
import time

from browser import Browser
from seed import Server, seed

PAGES = [
    ("overview", "overview"), ("storage", "storage/Bikes"), ("map", "storage/Bikes?view=map"), ("record", "storage/Bikes/bike-007"), ("history", "storage/Bikes/bike-007?tab=history"), ("rules", "storage/Sightings?tab=rules"), ("files", "files"), ("users", "users"), ("roles", "users?tab=roles"),
    ("moderation", "moderation"), ("hooks", "hooks"), ("hook", "hooks/thank-finder"), ("jobs", "jobs"), ("definitions", "definitions"), ("definition", "definitions/kick-in"), ("rollout", "definitions/kick-in?tab=rollout"),
    ("configurations", "configuration"), ("configuration", "configuration/1.1.0~Light"), ("screens", "configuration/1.1.0~Light?tab=screens&screen=BikeList&element=title"), ("themes", "configuration/1.1.0~Light?tab=themes"), ("changes", "configuration/1.1.0~Light?tab=diff"), ("json", "configuration/1.1.0~Light?tab=json"),
    ("flags", "flags"), ("flag-groups", "flags?tab=groups"), ("experiments", "experiments"), ("experiment", "experiments/checkout"), ("variations", "experiments/checkout?tab=setup"), ("sample-size", "experiments/checkout?tab=size"), ("languages", "languages/1.1.0"), ("analytics", "analytics"),
    ("people", "analytics?question=people"), ("sessions", "analytics?question=sessions"), ("top-screens", "analytics?question=screens"), ("retention", "analytics?question=retention&interval=week"), ("funnel", "analytics?question=funnel&steps=Opened|Searched|Reported"), ("live", "analytics?question=live"), ("raw", "analytics?question=raw"), ("saved", "analytics?question=saved"),
    ("crashes", "crashes"), ("crash", "crashes/5"), ("releases", "crashes?tab=releases"), ("board", "tickets"), ("list", "tickets?view=list"), ("sprints", "tickets?view=sprints"), ("labels", "tickets?view=labels"), ("ticket", "tickets/1"), ("push", "push"), ("compose", "push/new"), ("credentials", "push?tab=credentials"),
    ("mail", "mail?tab=templates"),
    ("user-sign-in", "sign-in"), ("providers", "sign-in?tab=providers"), ("passkeys", "sign-in?tab=passkeys"), ("invitations", "sign-in?tab=invitations"), ("mail-texts", "sign-in?tab=mail"), ("sender", "sign-in?tab=sender"), ("clients", "sign-in?tab=clients"),
    ("push-rules", "push?tab=rules"), ("segments", "push?tab=segments"), ("push-templates", "push?tab=templates"), ("alerts", "crashes?tab=alerts"), ("symbols", "crashes?tab=symbols"),
    ("settings", "settings"), ("app", "settings?tab=app"), ("versions", "settings?tab=versions"), ("services", "settings?tab=services"),
]
SERVER_PAGES = [("apps", "apps"), ("staff", "staff"), ("sign-ins", "staff?tab=sign-ins"), ("staff-providers", "staff?tab=providers"), ("audit", "audit"), ("status", "status?span=hour"), ("account", "account")]
# Those in docs/pictures.
DOCS = [
    "overview", "storage", "map", "files", "configuration", "screens", "themes", "definition", "languages", "experiment", "analytics", "retention",
    "saved", "crash", "board", "passkeys", "status", "palette",
]


def main(connection, folder, only, for_docs=False):
    server = Server(connection)
    seed(server)
    if for_docs:
        # Counts of people and requests, and the history of the status, come a minute or two later.
        time.sleep(180)
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    browser = Browser()
    problems = []
    looks = (("light", (1360, 860)), ("dark", (1360, 860)), ("phone", (390, 844)))
    for look, size in looks[:1] if for_docs else looks:
        window = browser.window(server, look="light" if look == "phone" else look, size=size)

        def take(name):
            window.settle()
            window.page.screenshot(path=folder / (f"{name}.png" if for_docs else f"{name}-{look}.png"))

        if not only:
            window.open()
            window.page.get_by_label("Password").wait_for()
            take("sign-in")
        window.sign_in()
        for name, path in PAGES:
            if not only or name in only:
                window.place(path)
                take(name)
        for name, path in SERVER_PAGES:
            if not only or name in only:
                window.open(path)
                take(name)
        if not only or "palette" in only:
            window.place("overview")
            window.settle()
            window.page.keyboard.press("Control+k")
            window.page.keyboard.type("cr")
            take("palette")
        problems += [f"{look}: {problem}" for problem in window.problems]
        window.close()
    browser.close()
    print(*problems, sep="\n")


if __name__ == "__main__":
    if sys.argv[1] == "--docs":
        main(os.environ["MARTLET_TEST_CONNECTION"], sys.argv[2], DOCS, for_docs=True)
    else:
        main(os.environ["MARTLET_TEST_CONNECTION"], sys.argv[1], sys.argv[2:])
