"""What the browser tests share: a seeded server, a browser for each class, and a window for each test.

Every test fails as well for an error in the console and for a request to another host.
"""

import os
import unittest

from playwright.sync_api import expect

from browser import Browser
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

    def button(self, name, **options):
        return self.page.get_by_role("button", name=name, exact=True, **options)

    def dialog(self):
        return self.page.get_by_role("dialog")

    def see(self, text, **options):
        expect(self.page.get_by_text(text, **options).first).to_be_visible()
