"""The first day of somebody who has read nothing: each step by clicking only, in an app that is made in the first step."""

import json
import re
import unittest
import uuid

from playwright.sync_api import expect

from cases import BrowserTests


class NewcomerTests(BrowserTests):
    """The steps run in the order of their names, one after the other, in one app."""

    keys = {}

    def go_to(self, *names):
        """Signs in with what `deploy/up` prints, chooses the app, and clicks through the side bar."""
        self.window.sign_in()
        if self.keys:
            self.page.get_by_label("App", exact=True).select_option(self.keys["appId"])
            expect(self.page.locator("h1")).to_have_text("Bike shop")
        for name in names:
            self.page.get_by_role("navigation", name="Pages").get_by_role("link", name=name, exact=True).click()
            expect(self.page.locator("#main h1").first).to_be_visible()
            self.window.settle()

    def test_1_makes_an_app_and_sees_its_keys_and_first_steps(self):
        self.go_to("Apps")
        self.button("New app").click()
        self.dialog().get_by_label("Name").fill("Bike shop")
        self.button("Create").click()
        self.see("Bike shop is ready")
        rows = "rows => rows.map(row => [row.dataset.key, row.querySelector('code').textContent])"
        type(self).keys = dict(self.dialog().locator("[data-key]").evaluate_all(rows))
        self.page.get_by_role("link", name="Open Bike shop").click()
        self.see("First steps")
        self.see("Store a first object")

    def test_2_stores_an_object_and_finds_it(self):
        self.go_to("Overview")
        step = self.page.get_by_role("listitem").filter(has_text="Store a first object")
        step.get_by_role("button", name="Do it").click()
        self.see("Nothing is stored yet")
        self.button("New object").first.click()
        self.dialog().get_by_label("Collection").fill("Bikes")
        self.dialog().get_by_label("Object").fill('{"brand": "Gazelle", "price": 700}')
        self.button("Save").click()
        self.see("Gazelle")
        self.button("Filter").click()
        self.page.get_by_label("Field").select_option("brand")
        self.page.get_by_label("Value").fill("Gazelle")
        self.button("Add").click()
        expect(self.page.get_by_label("Remove this condition")).to_be_visible()
        self.see("Gazelle")

    def test_3_invites_a_colleague_with_few_rights_who_signs_in_and_sees_little(self):
        self.go_to("Staff")
        self.button("Invite").click()
        self.dialog().get_by_label("User name").fill("robin")
        self.dialog().get_by_label("Rights in").select_option(self.keys["appId"])
        self.dialog().get_by_label("Tickets: Read").check()
        self.dialog().get_by_role("button", name="Invite").click()
        self.see("robin can sign in")
        password = self.dialog().locator(".secret code").inner_text()
        other = self.open_window()
        other.open()
        other.page.get_by_label("User name").fill("robin")
        other.page.get_by_label("Password").fill(password)
        other.page.get_by_role("button", name="Sign in").click()
        other.page.get_by_label("Password you were given").fill(password)
        other.page.get_by_label("New password").fill("only robin knows this")
        other.page.get_by_label("Once more").fill("only robin knows this")
        other.page.get_by_role("button", name="Save and continue").click()
        expect(other.page.locator("h1")).to_have_text("Bike shop")
        pages = other.page.get_by_role("navigation", name="Pages")
        expect(pages.get_by_role("link")).to_have_text(["Overview", "Tickets", "Apps"], use_inner_text=True)

    def test_4_publishes_a_configuration_that_a_client_gets(self):
        self.go_to("Remote configuration")
        self.button("New configuration").first.click()
        self.dialog().get_by_label("App version, and theme").fill("1.0.0")
        self.button("Create").click()
        self.page.get_by_role("tab", name="Settings").click()
        self.page.get_by_label("Name of a new setting").fill("showsPrices")
        self.button("Add").click()
        self.page.get_by_label("showsPrices", exact=True).fill("yes")
        self.button("Save draft").click()
        self.see("Draft saved")
        self.button("Publish").click()
        self.dialog().get_by_role("button", name="Publish").click()
        self.see("Live: version 1")
        answer = self.server.call("GET", f"/api/{self.keys['appKey']}/remote/1.0.0", headers={"X-Martlet-Secret": self.keys["secret"]})
        self.assertEqual(answer["mainSettings"], {"showsPrices": "yes"})

    def test_5_starts_an_ab_test_of_a_flag(self):
        self.go_to("Flags")
        self.button("New flag").first.click()
        self.dialog().get_by_label("Name").fill("big-pictures")
        self.dialog().get_by_role("button", name="Add").click()
        self.button("Save draft").click()
        self.see("Draft saved")
        self.button("Publish").click()
        self.dialog().get_by_role("button", name="Publish").click()
        self.see("Live: version 1")
        self.page.get_by_role("navigation", name="Pages").get_by_role("link", name="A/B tests").click()
        self.button("New test").first.click()
        self.dialog().get_by_label("What is tested").fill("Big pictures")
        self.dialog().get_by_label("Flag", exact=False).first.fill("big-pictures")
        self.dialog().get_by_label("Event that counts as success").fill("Bought")
        self.button("Create").click()
        self.button("Start").click()
        self.dialog().get_by_role("button", name="Start").click()
        self.see("Running")

    def test_6_reads_a_crash_into_a_ticket_and_moves_it_on_the_board(self):
        event = {
            "event_id": uuid.uuid4().hex, "platform": "cocoa", "level": "fatal", "release": "org.example.shop@1.0.0",
            "exception": {"values": [{"type": "EXC_CRASH", "value": "The basket is empty", "stacktrace": {"frames": [
                {"function": "pay()", "filename": "Basket.swift", "lineno": 12, "in_app": True}]}}]},
        }
        body = json.dumps(event)
        envelope = f"{json.dumps({'event_id': event['event_id']})}\n{json.dumps({'type': 'event', 'length': len(body)})}\n{body}\n"
        headers = {"X-Sentry-Auth": f"Sentry sentry_version=7, sentry_key={self.keys['ingestKey']}",
                   "Content-Type": "application/x-sentry-envelope"}
        self.server.call("POST", f"/crash/api/{self.keys['appNumber']}/envelope/", envelope.encode(), headers)
        self.go_to("Crashes")
        crash = self.page.get_by_role("link", name=re.compile("The basket is empty"))
        for _ in range(120):
            if crash.count():
                break
            self.page.wait_for_timeout(500)
            self.page.reload()
            self.window.settle()
        crash.click()
        self.see("Basket.swift:12")
        self.button("Make a ticket").click()
        expect(self.page).to_have_url(re.compile(r"/tickets/\d+$"))
        self.page.get_by_role("link", name="Tickets", exact=True).first.click()
        card = self.page.get_by_role("listitem").filter(has_text="The basket is empty")
        card.drag_to(self.page.get_by_role("region", name="In progress"))
        moved = self.page.get_by_role("region", name="In progress").get_by_role("listitem")
        expect(moved.filter(has_text="The basket is empty")).to_be_visible()

    def test_7_sends_a_push(self):
        self.go_to("Push")
        self.button("New message").first.click()
        self.page.get_by_label("Title").fill("Sale")
        self.page.get_by_label("Text", exact=True).fill("All bikes, ten percent off.")
        self.button("Send").click()
        expect(self.page.locator("h1")).to_contain_text("Sale")
        self.see("No device was in the audience")


if __name__ == "__main__":
    unittest.main(verbosity=2)
