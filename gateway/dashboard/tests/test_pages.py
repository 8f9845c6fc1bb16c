"""Each page's main path, in a real browser against real services. `deploy/test-dashboard` runs it."""

import re
import unittest

from playwright.sync_api import expect

from cases import BrowserTests


class PageTests(BrowserTests):
    # Signing in

    def test_a_wrong_password_is_refused_at_its_field_and_the_right_one_opens_the_overview(self):
        self.window.expect_refusals(401)
        self.window.open()
        self.page.get_by_label("User name").fill("admin")
        self.page.get_by_label("Password").fill("not this one")
        self.button("Sign in").click()
        self.see("Name or password is wrong.")
        self.page.get_by_label("Password").fill(self.server.keys["staffPassword"])
        self.button("Sign in").click()
        expect(self.page.locator("#main h1")).to_have_text("FindMyBike")

    def test_a_new_member_must_choose_a_password_and_then_sees_only_what_they_may(self):
        self.server.admin("POST", "/staff", {"userName": "kim", "password": "a first password", "rights": {self.server.app: {"tickets": ["read"]}}})
        self.window.open()
        self.page.get_by_label("User name").fill("kim")
        self.page.get_by_label("Password").fill("a first password")
        self.button("Sign in").click()
        self.page.get_by_label("Password you were given").fill("a first password")
        self.page.get_by_label("New password").fill("a better password")
        self.page.get_by_label("Once more").fill("a better one")
        self.see("The passwords are different.")
        self.page.get_by_label("Once more").fill("a better password")
        self.button("Save and continue").click()
        pages = self.page.get_by_role("navigation", name="Pages")
        expect(pages.get_by_role("link", name="Tickets")).to_be_visible()
        expect(pages.get_by_role("link", name="Storage")).to_have_count(0)
        expect(pages.get_by_role("link", name="Staff")).to_have_count(0)
        self.window.place("tickets")
        self.see("Pay by invoice")
        expect(self.button("New ticket")).to_have_count(0)

    def test_a_page_without_the_right_says_so(self):
        self.window.expect_refusals(403)
        self.window.sign_in("dana", "a long password for dana")
        self.window.place("push")
        self.see("You do not have the right to see or do this")

    def test_an_ended_session_asks_to_sign_in_and_continues_on_the_same_page(self):
        self.window.expect_refusals(401)
        self.window.sign_in("dana", "a long password for dana")
        self.window.place("tickets/2")
        self.see("Pay by invoice")
        dana = next(member for member in self.server.admin("GET", "/staff")["data"] if member["userName"] == "dana")
        self.server.admin("DELETE", f"/staff/{dana['id']}/sessions")
        self.wait_for_the_end_of_the_session()
        # The page may have read something meanwhile; the gate then stands above the link already, and takes real clicks.
        self.page.get_by_role("navigation", name="Pages").get_by_role("link", name="Crashes").dispatch_event("click")
        gate = self.page.get_by_role("dialog", name="Your session has ended")
        gate.get_by_label("Password").fill("a long password for dana")
        gate.get_by_role("button", name="Sign in").click()
        expect(gate).to_have_count(0)
        expect(self.page).to_have_url(re.compile("/live/crashes"))
        self.see("EXC_BAD_ACCESS")

    def test_a_reload_keeps_the_page_and_back_returns(self):
        self.window.sign_in()
        self.window.place("crashes")
        self.page.get_by_role("link", name=re.compile("URLError")).click()
        expect(self.page.locator("h1")).to_contain_text("URLError")
        self.page.reload()
        expect(self.page.locator("h1")).to_contain_text("URLError")
        self.page.go_back()
        expect(self.page.locator("h1")).to_have_text("Crashes")

    def test_signing_out_leaves_nothing_behind(self):
        self.window.sign_in(afresh=True)
        self.window.settle()
        self.page.get_by_label("admin").click()
        self.page.get_by_role("menuitem", name="Sign out").click()
        self.see("Sign in to Martlet")
        self.window.place("crashes")
        self.see("Sign in to Martlet")
        self.assertEqual(self.page.get_by_text("URLError").count(), 0)

    # All pages

    def test_every_page_opens_and_fulfils_wcag_in_light_and_dark(self):
        self.window.sign_in()
        violations = []
        for path in self.each_page(self.window):
            violations += [f"{path}: {one}" for one in self.window.violations()]
            self.window.wear("dark")
            violations += [f"{path}, dark: {one}" for one in self.window.violations(only_contrast=True)]
            self.window.wear("light")
        self.assertEqual(violations, [])

    def test_the_palette_goes_to_pages_by_a_few_letters(self):
        self.window.sign_in()
        for text in ("lang", "APP-2"):
            self.page.keyboard.press("Control+k")
            expect(self.page.get_by_role("combobox", name="Search and commands")).to_be_focused()
            self.page.keyboard.type(text)
            self.page.keyboard.press("Enter")
            if text == "lang":
                expect(self.page.locator("h1")).to_have_text("Languages")
        expect(self.page.locator("h1")).to_have_text("Pay by invoice")

    def test_the_palette_finds_collections_flags_and_documents_by_name(self):
        self.window.sign_in()
        for name, kind, path in (("Bikes", "Collection", "storage/Bikes"), ("checkout", "A/B test", "experiments/checkout"),
                                 ("kick-in", "App definition", "definitions/kick-in"), ("new-checkout", "Flag", "flags?flag=new-checkout")):
            self.page.keyboard.press("Control+k")
            self.page.get_by_role("combobox", name="Search and commands").fill(name)
            expect(self.page.get_by_role("listbox").get_by_role("option", selected=True)).to_have_text(f"{name}{kind}")
            self.page.keyboard.press("Enter")
            expect(self.page).to_have_url(re.compile(re.escape(path) + "$"))
            self.window.settle()

    def test_the_test_environment_has_data_of_its_own(self):
        self.window.sign_in()
        self.window.place("tickets")
        self.see("Pay by invoice")
        self.page.get_by_label("Environment").select_option("test")
        expect(self.page).to_have_url(re.compile("/test/tickets"))
        expect(self.page.get_by_text("Pay by invoice")).to_have_count(0)

    # Apps and staff

    def test_an_app_is_made_its_keys_are_shown_once_and_a_key_is_rotated(self):
        self.window.sign_in()
        self.window.open("apps")
        self.button("New app").click()
        self.dialog().get_by_label("Name").fill("Shop")
        self.button("Create").click()
        self.see("Shop is ready")
        self.see(re.compile("^mk_live_"))
        self.page.get_by_role("link", name="Open Shop").click()
        expect(self.page.locator("h1")).to_have_text("Shop")
        self.see("First steps")
        self.page.get_by_role("link", name="Keys and versions").click()
        self.page.get_by_label("More about this key").first.click()
        self.page.get_by_role("menuitem", name="Rotate").click()
        self.button("Rotate").click()
        self.see("It is shown only once.")

    def test_a_colleague_is_invited_with_few_rights(self):
        self.window.sign_in()
        self.window.open("staff")
        self.button("Invite").click()
        self.dialog().get_by_label("User name").fill("lee")
        self.dialog().get_by_label("Rights in").select_option(self.server.app)
        self.dialog().get_by_label("Crashes: Change").check()
        expect(self.dialog().get_by_label("Crashes: Read")).to_be_checked()
        self.dialog().get_by_role("button", name="Invite").click()
        self.see("lee can sign in")
        lee = next(member for member in self.server.admin("GET", "/staff")["data"] if member["userName"] == "lee")
        self.assertEqual(sorted(lee["rights"][self.server.app]["crashes"]), ["read", "update"])
        self.window.open("audit")
        self.see("create")

    # Storage and users

    def test_an_object_is_stored_found_by_a_filter_changed_and_deleted(self):
        self.window.sign_in()
        self.window.place("storage")
        self.button("New object").click()
        self.dialog().get_by_label("Collection").fill("Notes")
        self.dialog().get_by_label("Object").fill('{"title": "Buy bread", "pages": 3}')
        self.button("Save").click()
        self.see("Buy bread")
        self.button("Filter").click()
        self.page.get_by_label("Field").select_option("pages")
        self.page.get_by_label("Condition").select_option("greater")
        self.page.get_by_label("Value").fill("5")
        self.button("Add").click()
        self.see("Nothing matches")
        self.button("JSON · curl").click()
        self.see('"$gt"')
        self.page.get_by_role("dialog").get_by_role("button", name="Close").click()
        self.page.get_by_label("Remove this condition").click()
        self.page.locator("tr[data-row]").first.click()
        self.page.get_by_role("tab", name="JSON").click()
        self.page.get_by_label("Object").fill('{"title": "Buy rye bread", "pages": 3}')
        self.button("Save").click()
        self.page.get_by_role("tab", name="Fields").click()
        self.see("Buy rye bread")
        self.button("Delete").click()
        self.dialog().get_by_role("button", name="Delete").click()
        expect(self.page).to_have_url(re.compile("/storage/Notes$"))

    def test_a_list_of_many_records_is_read_page_by_page_and_drawn_where_it_is_seen(self):
        self.window.sign_in()
        self.window.place("storage/Bikes")
        self.see("bike-250")
        rows = self.page.locator("tr[data-row]")

        def is_at_the_end():
            self.page.locator(".table.tall").evaluate("table => table.scrollTo(0, table.scrollHeight)")
            self.page.wait_for_timeout(250)
            return int(rows.last.get_attribute("aria-rowindex")) > 290
        self.until(is_at_the_end)
        self.assertLess(rows.count(), 100)

    def test_a_wrong_rule_is_shown_at_its_line(self):
        self.window.expect_refusals(400)
        self.window.sign_in()
        self.window.place("storage/Sightings?tab=rules")
        self.page.get_by_role("tab", name="JSON").click()
        self.page.get_by_label("rules").fill('{\n  "rules": {\n    "find": ["nobody-knows-this:x"]\n  }\n}')
        self.button("Save").click()
        self.see("Line 3")
        # The browser asks before the rules are left, and the test stays.
        self.page.get_by_role("tab", name="Records").click()
        expect(self.page.get_by_label("rules")).to_have_value(re.compile("nobody-knows-this"))

    def test_a_user_is_found_and_disabled(self):
        self.window.sign_in()
        self.window.place("users")
        self.page.get_by_label("User name or mail address").fill("grace@example.org")
        self.page.keyboard.press("Enter")
        self.page.get_by_role("link", name="grace").click()
        self.button("Disable").click()
        self.see("Disabled")
        self.button("Enable").click()
        expect(self.page.get_by_text("Disabled")).to_have_count(0)

    # Configuration, flags, experiments, languages

    def test_a_configuration_is_changed_compared_published_and_rolled_back(self):
        self.window.sign_in()
        self.window.place("configuration")
        self.button("New configuration").click()
        self.dialog().get_by_label("App version, and theme").fill("3.0.0")
        self.button("Create").click()
        self.page.get_by_role("tab", name="Settings").click()
        self.page.get_by_label("Name of a new setting").fill("limit")
        self.button("Add").click()
        self.page.get_by_label("limit", exact=True).fill("5")
        self.button("Save draft").click()
        self.see("Draft saved")
        self.button("Publish").click()
        self.dialog().get_by_label("Note").fill("The limit")
        self.dialog().get_by_role("button", name="Publish").click()
        self.see("Live: version 1")
        self.page.get_by_label("limit", exact=True).fill("8")
        self.button("Save draft").click()
        self.until(lambda: self.server.of_app("GET", "/config/configuration/3.0.0")["mainSettings"] == {"limit": 8})
        self.page.get_by_role("tab", name="Changes").click()
        self.see("/mainSettings/limit")
        self.button("Publish").click()
        self.dialog().get_by_role("button", name="Publish").click()
        self.see("Live: version 2")
        self.page.get_by_role("tab", name="Versions").click()
        self.button("Go back").click()
        self.dialog().get_by_role("button", name="Go back").click()
        self.see("Version 1 is live again")
        self.assertEqual(self.server.as_client("GET", "/remote/3.0.0")["mainSettings"], {"limit": 5})

    def test_a_draft_with_an_error_shows_where_it_is_and_cannot_be_published(self):
        self.window.sign_in()
        self.window.place("configuration/1.2.0?tab=json")
        self.page.get_by_label("Draft of 1.2.0").fill('{\n  "mainSettings": {},\n  "colors": [\n    { "name": "a", "red": 999 }\n  ]\n}')
        self.button("Save draft").click()
        self.see("Line 4")
        expect(self.button("Publish")).to_be_disabled()

    def test_a_flag_is_added_and_published(self):
        # The page shows the live version from the start.
        last = self.server.of_app("GET", "/config/flags/default/versions")["data"][0]["version"]
        self.window.sign_in()
        self.window.place("flags")
        self.button("New flag").click()
        self.dialog().get_by_label("Name").fill("beta")
        self.dialog().get_by_role("button", name="Add").click()
        self.page.get_by_label("Default of beta").check()
        self.button("Save draft").click()
        self.see("Draft saved")
        self.button("Publish").click()
        self.dialog().get_by_role("button", name="Publish").click()
        self.see(f"Live: version {last + 1}")
        answer = self.server.as_client("POST", "/flags/evaluate", {"context": {"targetingKey": "phone"}})
        self.assertIs(answer["flags"]["beta"]["value"], True)

    def test_an_ab_test_is_made_started_and_stopped(self):
        self.window.sign_in()
        self.window.place("experiments")
        self.button("New test").click()
        self.dialog().get_by_label("What is tested").fill("Bigger map")
        self.dialog().get_by_label("Flag").fill("search-radius")
        self.dialog().get_by_label("Its value in the variation").fill("10")
        self.dialog().get_by_label("Event that counts as success").fill("Reported")
        self.button("Create").click()
        self.button("Start").click()
        self.dialog().get_by_role("button", name="Start").click()
        self.see("Running")
        self.page.get_by_role("tab", name="Results").click()
        self.see("Wait: no difference can be told from chance yet.")
        self.button("Stop").click()
        self.see("Stopped")
        self.window.place("experiments")
        expect(self.page.get_by_role("row").filter(has_text="Bigger map")).to_contain_text("Stopped")

    def test_a_missing_translation_is_written_in_its_cell(self):
        self.window.sign_in()
        self.window.place("languages/1.1.0")
        self.page.get_by_label("report.thanks, de: missing").click()
        self.page.get_by_label("report.thanks, de").fill("Danke, wir haben es weitergesagt.")
        self.page.keyboard.press("Enter")
        self.see("83%")
        keys = self.server.of_app("GET", "/config/translation/1.1.0/keys?search=report.thanks")["data"]
        self.assertEqual(keys[0]["entry"]["localizations"]["de"]["stringUnit"]["value"], "Danke, wir haben es weitergesagt.")

    # Crashes, tickets, analytics

    def test_a_crash_becomes_a_ticket_that_moves_on_the_board(self):
        self.window.sign_in()
        self.window.place("crashes")
        self.page.get_by_role("link", name=re.compile("Unexpectedly found nil")).click()
        self.see("return annotations[bike.place!]")
        self.page.get_by_role("tab", name="Breadcrumbs").click()
        self.see("Tapped annotation")
        self.button("Make a ticket").click()
        expect(self.page).to_have_url(re.compile(r"/tickets/\d+$"))
        number = int(self.page.url.rsplit("/", 1)[1])
        self.page.get_by_role("link", name="Tickets", exact=True).first.click()
        card = self.page.locator(f"#ticket-{number}")
        card.focus()
        self.page.keyboard.press("Alt+ArrowRight")
        expect(self.page.get_by_role("region", name="In progress").locator(f"#ticket-{number}")).to_be_visible()
        self.page.locator(f"#ticket-{number}").drag_to(self.page.get_by_role("region", name="On hold"))
        expect(self.page.get_by_role("region", name="On hold").locator(f"#ticket-{number}")).to_be_visible()
        self.until(lambda: self.server.of_app("GET", f"/tickets/{number}")["status"] == "onHold")

    def test_two_people_see_each_other_move_tickets(self):
        other = self.open_window()
        for window in (self.window, other):
            window.sign_in()
            window.place("tickets")
            expect(window.page.locator("#ticket-9")).to_be_visible()
        for page, seen, lane in ((self.page, other.page, "In progress"), (other.page, self.page, "On hold")):
            page.locator("#ticket-9").drag_to(page.get_by_role("region", name=lane))
            expect(seen.get_by_role("region", name=lane).locator("#ticket-9")).to_be_visible()

    def test_an_issue_is_resolved_and_the_act_taken_back(self):
        self.window.sign_in()
        self.window.place("crashes/3")
        self.button("Resolve").click()
        expect(self.page.locator(".badge", has_text="Resolved")).to_be_visible()
        self.button("Undo").click()
        expect(self.button("Resolve")).to_be_visible()

    def test_a_ticket_is_written_edited_and_commented(self):
        self.window.sign_in()
        self.window.place("tickets")
        self.button("New ticket").click()
        self.dialog().get_by_label("Title").fill("Write the release notes")
        self.button("Create").click()
        self.page.get_by_text("Write the release notes").click()
        self.page.get_by_label("Priority").select_option("high")
        self.page.get_by_label("Comment").fill("By Friday.")
        self.button("Comment").click()
        self.see("By Friday.")
        self.page.get_by_role("tab", name="History").click()
        self.see(re.compile("changed Priority: .* → High"))
        self.page.get_by_label("New label").fill("docs")
        self.button("Add").click()
        expect(self.page.get_by_label("docs", exact=True)).to_be_checked()
        self.page.get_by_label("Number of the other ticket").fill("APP-2")
        self.button("Link").click()
        expect(self.page.get_by_role("list", name="Links")).to_contain_text("belongs to")

    def test_questions_have_answers_and_addresses(self):
        self.window.sign_in()
        self.window.place("analytics")
        self.button("Searched").click()
        expect(self.page).to_have_url(re.compile("event=Searched"))
        self.page.get_by_role("tab", name="Funnel").click()
        self.page.get_by_label("Step 1").fill("Opened")
        self.page.get_by_label("Step 2").fill("Reported")
        self.button("Ask").click()
        self.see(re.compile("of the first"))

    # Push and mail

    def test_a_push_is_written_and_ordered(self):
        self.window.sign_in()
        self.window.place("push/new")
        self.page.get_by_label("Title").fill("Winter is coming")
        self.page.get_by_label("Text", exact=True).fill("Check your lights.")
        self.see("Check your lights.")
        self.page.get_by_label("Language tag").fill("de")
        self.button("Add a language").click()
        self.page.get_by_label("Title").fill("Der Winter kommt")
        self.button("Send").click()
        expect(self.page.locator("h1")).to_contain_text("Winter is coming")
        self.see("No device was in the audience")

    def test_a_mail_template_is_previewed_and_stored(self):
        self.window.sign_in()
        self.window.place("mail?tab=templates")
        self.button("New template").click()
        self.dialog().get_by_label("Name").fill("welcome")
        self.dialog().get_by_label("Subject").fill("Welcome, {{name}}")
        self.dialog().get_by_label("Text").fill("Good to see you.")
        self.button("Preview").click()
        self.see("Welcome, NAME")
        self.button("Save").click()
        self.see("welcome")


if __name__ == "__main__":
    unittest.main(verbosity=2)
