"""A real browser before the dashboard, which fails a test for what no page may do."""

import json
import shutil
import time

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect, sync_playwright

# Long enough for a slow machine. Only a failing check waits that long.
LIMIT_IN_MILLISECONDS = 60_000
expect.set_options(timeout=LIMIT_IN_MILLISECONDS)

WCAG = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]

# Below the ten minutes after which the server asks for the password again.
LONGEST_SESSION_IN_SECONDS = 300
# Once in a window: a reload must not bring back what the page has removed.
CONTINUE = """if (location.protocol !== "about:" && !sessionStorage.getItem("continued")) {
  sessionStorage.setItem("continued", "yes");
  for (const { name, value } of %s) if (name === "martlet.session") localStorage.setItem(name, value);
}"""


class Browser:
    """Chromium from Debian, driven by Playwright."""

    def __init__(self):
        self.playwright = sync_playwright().start()
        path = shutil.which("chromium")
        self.chromium = self.playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--force-color-profile=srgb"])

    def window(self, server, **options):
        return Window(self.chromium, server, **options)

    def close(self):
        self.chromium.close()
        self.playwright.stop()


class Window:
    """One window with storage of its own. `problems` collects console errors, and requests to other hosts."""

    def __init__(self, chromium, server, look="light", language="en-GB", size=(1360, 860)):
        self.server = server
        self.context = chromium.new_context(
            viewport={"width": size[0], "height": size[1]}, locale=language, color_scheme=look, reduced_motion="reduce", timezone_id="Europe/Zurich")
        self.context.grant_permissions(["clipboard-read", "clipboard-write"], origin=server.url)
        self.page = self.context.new_page()
        self.page.set_default_timeout(LIMIT_IN_MILLISECONDS)
        self.problems = []
        self.expected = []
        self.page.on("console", self._console)
        self.page.on("pageerror", lambda error: self.problems.append(f"exception: {error}"))
        self.page.on("request", self._request)

    def _console(self, message):
        if message.type == "error" and not any(text in message.text for text in self.expected):
            self.problems.append(f"console: {message.text} ({message.location.get('url', '')})")

    def _request(self, request):
        if not request.url.startswith((self.server.url, "data:", "blob:")):
            self.problems.append(f"request to another host: {request.url}")

    def expect_refusals(self, *statuses):
        """The browser logs each refused request as an error; those with these statuses are what the test wants."""
        self.expected += [f"status of {status}" for status in statuses]

    def open(self, path=""):
        self.page.goto(self.server.url + "/dashboard/" + path.lstrip("/"))

    def place(self, page, environment="live"):
        self.open(f"apps/{self.server.app}/{environment}/{page}")

    def sign_in(self, name=None, password=None, afresh=False):
        """By the form; the administrator continues a session of the last minutes, which saves the tests a minute."""
        signed_in, state = self.server.session or (0, None)
        if name is None and not afresh and time.monotonic() - signed_in < LONGEST_SESSION_IN_SECONDS:
            self.context.add_cookies(state["cookies"])
            self.context.add_init_script(CONTINUE % json.dumps(state["origins"][0]["localStorage"]))
            self.open()
            self.page.locator("#main h1").first.wait_for()
            return
        self.open()
        self.page.get_by_label("User name").fill(name or self.server.keys["staffUser"])
        self.page.get_by_label("Password").fill(password or self.server.keys["staffPassword"])
        self.page.get_by_role("button", name="Sign in").click()
        self.page.locator("#main h1").first.wait_for()
        if name is None and not afresh:
            self.server.session = (time.monotonic(), self.context.storage_state())

    def violations(self, only_contrast=False):
        """What axe finds on the page against WCAG 2.1, levels A and AA: a line for each element."""
        rules = {"type": "rule", "values": ["color-contrast"]} if only_contrast else {"type": "tag", "values": WCAG}
        # A preview has the colours of somebody's app.
        found = Axe().run(self.page, context={"exclude": [[".phone-screen"]]}, options={"runOnly": rules, "resultTypes": ["violations"]}).response["violations"]
        return [f"{one['id']} ({one['help']}): {node['target']}" for one in found for node in one["nodes"]]

    def wear(self, look):
        """Light or dark, without another load of the page."""
        self.page.evaluate("look => { document.documentElement.dataset.look = look; }", look)

    def settle(self):
        """Until nothing is on its way and the page says so. A live stream stays open, so the network is no measure."""
        for _ in range(2):  # What one part of a page has read may let another begin.
            expect(self.page.locator(".loading, [aria-busy=true]")).to_have_count(0)
            self.page.wait_for_timeout(120)

    def close(self):
        self.context.close()
