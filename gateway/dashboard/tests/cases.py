"""What the browser tests share: a seeded server, a browser for each class, and a window for each test.

Every test fails as well for an error in the console and for a request to another host.
"""

import os
import unittest

from playwright.sync_api import expect

from browser import Browser
from screenshots import PAGES, SERVER_PAGES
from seed import Server, seed


class BrowserTests(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server(os.environ["MARTLET_TEST_CONNECTION"])
        seed(cls.server)
        cls.browser = Browser()

    @classmethod
    def tearDownClass(cls):
        cls.browser.close()

    def setUp(self):
        self.windows = []
        self.window = self.open_window()
        self.page = self.window.page

    def tearDown(self):
        problems = [problem for window in self.windows for problem in window.problems]
        for window in self.windows:
            window.close()
        self.assertEqual(problems, [])

    def open_window(self, **options):
        window = self.browser.window(self.server, **options)
        self.windows.append(window)
        return window

    def until(self, holds):
        """Waits for what the page does not show."""
        for _ in range(600):
            if holds():
                return
            self.page.wait_for_timeout(100)
        self.fail("It did not happen within a minute.")

    def wait_for_the_end_of_the_session(self):
        self.wait_for_a_refusal("/tickets/2", 401)

    def wait_for_a_refusal(self, path, status):
        """Until the gateway has heard what changed and refuses a call of the window, which takes about two seconds."""
        ask = "path => fetch(path, { headers: { 'martlet-dashboard': '1' } }).then(answer => answer.status)"
        self.until(lambda: self.page.evaluate(ask, f"/admin/apps/{self.server.app}{path}") == status)

    def button(self, name, **options):
        return self.page.get_by_role("button", name=name, exact=True, **options)

    def dialog(self):
        return self.page.get_by_role("dialog")

    def see(self, text, **options):
        expect(self.page.get_by_text(text, **options).first).to_be_visible()

    def each_page(self, window):
        """The path of each page of the dashboard, after it was opened, has settled and was not refused."""
        for open_page, pages in ((window.place, PAGES), (window.open, SERVER_PAGES)):
            for _, path in pages:
                open_page(path)
                window.settle()
                expect(window.page.locator("main h1").first).to_be_visible()
                expect(window.page.locator(".refused")).to_have_count(0)
                yield path
