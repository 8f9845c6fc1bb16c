#!/usr/bin/env python3
"""Takes the pictures of tutorials and how-tos, after the examples have run: stories.py FOLDER PAGES

FOLDER is docs/pictures. PAGES is where `examples napton` has written its screens.
"""

import os
import pathlib
import sys

from browser import Browser
from seed import Server

# Name of the picture, and the page of the dashboard.
SPORTLOOK = [("sportlook-map", "storage/Events?view=map"), ("sportlook-chat", "storage/Messages")]
NAPTON = ["event-before", "event-after", "sign-up"]


def main(connection, folder, pages):
    server = Server(connection)
    server.app = [app["id"] for app in server.admin("GET", "/apps")["data"] if app["name"] == "SportLook"][-1]
    browser = Browser()
    window = browser.window(server, size=(1360, 640))
    window.sign_in()
    for name, page in SPORTLOOK:
        window.place(page)
        window.settle()
        window.page.screenshot(path=folder / f"{name}.png")
    problems = window.problems
    window.close()
    window = browser.window(server, size=(390, 620))
    for name in NAPTON:
        window.page.goto((pages / f"{name}.html").as_uri())
        window.page.screenshot(path=folder / f"{name}.png")
    window.close()
    browser.close()
    print(*problems, sep="\n")


if __name__ == "__main__":
    main(os.environ["MARTLET_TEST_CONNECTION"], pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]).absolute())
