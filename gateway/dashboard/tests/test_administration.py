"""Questions that are saved, debug files that staff upload, histories in the audit log, passkeys, and the state and history of the server."""

import base64
import hashlib
import json
import pathlib
import re
import unittest
from datetime import datetime, timedelta, timezone
from urllib.parse import parse_qs, urlsplit

from playwright.sync_api import expect

from cases import BrowserTests
from seed import PICTURE

HEALTH = re.compile("/admin/health$")
HISTORY = re.compile(r"/admin/status\?")


class AdministrationTests(BrowserTests):
    def test_a_question_is_saved_shown_on_the_overview_opened_and_deleted(self):
        self.window.sign_in()
        self.window.place("analytics?question=funnel&steps=Opened|Reported&days=90")
        self.button("Save").click()
        self.dialog().get_by_label("Name").fill("From opening to reporting")
        self.dialog().get_by_label("Show the answer on the overview").check()
        self.dialog().get_by_role("button", name="Save").click()
        expect(self.dialog()).to_have_count(0)
        stored = self.server.of_app("GET", "/analytics/questions/From%20opening%20to%20reporting")
        self.assertEqual((stored["kind"], stored["days"], stored["steps"]), ("funnel", 90, ["Opened", "Reported"]))
        self.window.place("overview")
        expect(self.page.get_by_role("heading", name="From opening to reporting")).to_be_visible()
        self.see(re.compile("of the first"))
        self.window.place("analytics?question=saved")
        self.page.get_by_role("link", name="From opening to reporting").click()
        expect(self.page.get_by_label("Step 2")).to_have_value("Reported")
        expect(self.page.get_by_label("Period")).to_have_value("90")
        self.page.go_back()
        self.page.get_by_label("More about From opening to reporting").click()
        self.page.get_by_role("menuitem", name="Take off the overview").click()
        expect(self.page.get_by_role("row").filter(has_text="From opening")).not_to_contain_text("On the overview")
        self.window.place("overview")
        self.window.settle()
        expect(self.page.get_by_text("From opening to reporting")).to_have_count(0)
        self.window.place("analytics?question=saved")
        self.page.get_by_label("More about From opening to reporting").click()
        self.page.get_by_role("menuitem", name="Delete").click()
        self.dialog().get_by_role("button", name="Delete").click()
        expect(self.page.get_by_role("link", name="From opening to reporting")).to_have_count(0)

    def test_each_kind_of_question_has_its_chart_on_the_overview(self):
        self.window.sign_in()
        kinds = {"counts": {"group": "event"}, "people": {"interval": "week"}, "sessions": {}, "screens": {}, "retention": {"interval": "week"}}
        for kind, parameters in kinds.items():
            self.server.of_app("PUT", f"/analytics/questions/My%20{kind}", {"kind": kind, "parameters": parameters, "isOnOverview": True})
        self.window.place("overview")
        self.window.settle()
        expect(self.page.locator(".refused")).to_have_count(0)
        for kind in kinds:
            section = self.page.locator("section").filter(has=self.page.get_by_role("heading", name=f"My {kind}"))
            expect(section.locator("figure, .bars, .retention").first).to_be_visible()
            self.server.of_app("DELETE", f"/analytics/questions/My%20{kind}")

    def delete_debug_files(self, name):
        for file in self.server.as_server("GET", "/crashes/symbols?limit=100")["data"]:
            if file["name"] == name:
                self.server.as_server("DELETE", f"/crashes/symbols/{file['id']}")

    def test_debug_files_are_uploaded_and_a_file_without_symbols_is_refused(self):
        # The refused file stays in the list of both environments, where another test expects no file.
        self.addCleanup(self.delete_debug_files, "notes.txt")
        self.window.sign_in()
        self.window.place("crashes?tab=symbols")
        program = {"name": "true", "mimeType": "application/octet-stream", "buffer": pathlib.Path("/bin/true").read_bytes()}
        other = {"name": "notes.txt", "mimeType": "text/plain", "buffer": b"No symbols in here"}
        self.page.get_by_label("Debug files to upload", exact=True).set_input_files([program, other])
        uploads = self.page.get_by_label("Uploads")
        expect(uploads.locator(".row").filter(has_text="true")).to_contain_text("Ready")
        expect(uploads.locator(".row").filter(has_text="notes.txt")).to_contain_text("Failed")
        files = self.page.get_by_role("table", name="Files")
        expect(files.get_by_role("row").filter(has_text="true").filter(has_text="Ready")).to_have_count(1)
        self.page.get_by_label("More about true").click()
        self.page.get_by_role("menuitem", name="Delete").click()
        self.dialog().get_by_role("button", name="Delete").click()
        expect(self.page.get_by_label("More about true")).to_have_count(0)

    def test_a_history_in_the_audit_log_has_one_thing_and_what_is_in_it(self):
        for bike in ("bike-011", "bike-012"):
            self.server.of_app("PATCH", f"/storage/Bikes/{bike}", {"colour": "striped"})
        self.window.sign_in()
        self.window.place("storage/Bikes/bike-011?tab=history")
        self.page.get_by_role("link", name="In the audit log").click()
        rows = self.page.locator("tr[data-row]")
        expect(rows.filter(has_text="Bikes/bike-011").first).to_be_visible()
        expect(rows.filter(has_text="bike-012")).to_have_count(0)
        self.page.get_by_label("Target, such as").fill("Bikes")
        self.page.get_by_label("Target, such as").press("Enter")
        expect(rows.filter(has_text="Bikes/bike-012").first).to_be_visible()
        self.window.place("storage/Bikes")
        self.page.get_by_label("More about Bikes").click()
        self.page.get_by_role("menuitem", name="Changes by staff").click()
        expect(self.page).to_have_url(re.compile("/audit.*target=Bikes$"))
        expect(rows.filter(has_text="Bikes/bike-012").first).to_be_visible()
        oldest = self.server.admin("GET", "/audit?limit=100")["data"][-1]
        self.window.open(f"audit?open={oldest['number']}")
        expect(self.dialog().get_by_role("heading", name=oldest["action"], exact=True)).to_be_visible()
        self.window.open("audit?open=999999999")
        self.see("This does not exist (any more)")
        expect(self.page).to_have_url(re.compile("/audit$"))

    def test_passkeys_are_set_up_moved_and_turned_off(self):
        self.window.expect_refusals(400)
        self.window.sign_in()
        self.window.place("sign-in?tab=passkeys", "test")
        self.see("Passkeys are not set up")
        self.page.get_by_label("Domain").fill("example.org")
        self.page.get_by_label("Where the app runs").fill("https://example.com")
        self.button("Save").click()
        self.see(re.compile("is neither https://"))
        self.page.get_by_label("Where the app runs").fill("https://example.org\nhttps://shop.example.org")
        self.button("Save").click()
        expect(self.button("Turn off")).to_be_visible()
        test = {"X-Martlet-Environment": "test"}
        stored = self.server.of_app("GET", "/auth/passkeys/settings", headers=test)
        self.assertEqual((stored["rpId"], len(stored["origins"])), ("example.org", 2))
        self.page.get_by_label("Domain").fill("example.net")
        self.page.get_by_label("Where the app runs").fill("https://example.net")
        self.button("Save").click()
        self.see("Passkeys of example.org no longer work.", exact=False)
        self.dialog().get_by_role("button", name="Save").click()
        expect(self.dialog()).to_have_count(0)
        self.assertEqual(self.server.of_app("GET", "/auth/passkeys/settings", headers=test)["rpId"], "example.net")
        self.button("Turn off").click()
        self.dialog().get_by_role("button", name="Turn off").click()
        self.see("Passkeys are not set up")

    def test_the_state_of_services_database_and_backups_is_told(self):
        self.window.sign_in()
        self.window.open("status")
        health = self.page.get_by_role("table", name="Health")
        for service in ("auth", "storage", "config", "analytics", "notifications"):
            expect(health.get_by_role("row").filter(has_text=service)).to_contain_text("Ready")
        self.see(re.compile("PostgreSQL 1"))
        expect(self.page.get_by_role("table", name="Largest tables").get_by_role("row").nth(5)).to_be_visible()
        expect(self.page.locator("section").filter(has_text="Backup").get_by_text("Not set up")).to_be_visible()
        answer = {
            "services": [{"name": "auth", "isReady": True, "version": "9.9.9", "waitingJobs": 3}, {"name": "storage", "isReady": False}],
            "backup": {"backups": [{"id": "20261128T020000Z", "type": "full", "time": "2026-11-28T02:00:09Z", "sizeInBytes": 52_000_000}],
                       "proof": {"id": "20261128T020000Z", "time": "2026-11-28T03:00:00Z", "result": "good", "seconds": 22},
                       "runs": [{"command": "files", "time": "2026-11-28T05:00:00Z", "seconds": 95, "result": "failed"},
                                {"command": "verify", "time": "2026-11-28T03:00:00Z", "seconds": 22, "result": "good"}]},
            "appBackups": [{"app": "shop", "archives": 3, "time": "2026-11-28T02:00:09Z", "sizeInBytes": 7_000_000,
                            "lastRun": "2026-11-28T04:00:00Z", "lastResult": "failed"}],
        }
        self.page.route(HEALTH, lambda route: route.fulfill(json=answer))
        self.page.reload()
        expect(health.get_by_role("row").filter(has_text="storage")).to_contain_text("Not ready")
        self.see("The database does not answer")
        self.see("52 MB")
        self.see("Restores", exact=True)
        runs = self.page.get_by_role("table", name="Runs of the backup").get_by_role("row")
        expect(runs.filter(has_text="New files")).to_contain_text("2 min")
        expect(runs.filter(has_text="New files")).to_contain_text("Failed")
        expect(runs.filter(has_text="Test by restoring it")).to_contain_text("Fine")
        expect(self.page.get_by_role("table", name="Archives of apps").get_by_role("row").filter(has_text="shop")).to_contain_text("Failed")
        self.window.place("overview")
        self.see("2 parts do not work")

    def test_the_history_of_the_server_is_drawn_for_a_chosen_period(self):
        asked = []

        def answer(route):
            asked.append(parse_qs(urlsplit(route.request.url).query))
            series = [{"name": "host.cpu.user", "averages": [None, 20, 30.5], "maxima": [None, 90, 40]}]
            route.fulfill(json={"from": "2026-11-28T12:00:00Z", "intervalInSeconds": 86_400, "series": series if asked[-1]["group"] == ["host"] else []})

        self.page.route(HISTORY, answer)
        self.window.sign_in()
        self.window.open("status")
        chart = self.page.locator("figure").filter(has=self.page.get_by_role("img", name="CPU, % of all cores"))
        chart.get_by_text("Numbers").click()
        expect(chart.get_by_role("table")).to_contain_text("30.5")
        self.button("Highest").click()
        expect(chart.get_by_role("table")).to_contain_text("90")
        expect(self.page.locator("section").filter(has_text="History").locator("figure")).to_have_count(1)
        self.button("Year").click()
        year_ago = (datetime.now(timezone.utc) - timedelta(days=364)).isoformat()
        self.until(lambda: {one["group"][0] for one in asked if one["from"][0] < year_ago} == {"host", "processes", "database", "jobs"})
        expect(chart).to_be_visible()

    def test_staff_sign_in_at_a_provider_and_come_back_where_they_were(self):
        started = {}

        def start(route):
            started.update(route.request.post_data_json)
            # The provider would send the browser back to this address.
            address = started["redirectURL"] + "?code=the-code&state=the-state"
            route.fulfill(json={"url": address, "state": "the-state"})

        def finish(route):
            sent = route.request.post_data_json
            digest = base64.urlsafe_b64encode(hashlib.sha256(sent["codeVerifier"].encode()).digest()).decode().rstrip("=")
            self.assertEqual((sent["code"], digest), ("the-code", started["codeChallenge"]))
            if "secondFactorCode" not in sent:
                problem = {"status": 401, "code": "second-factor-required", "title": "Unauthorized", "detail": "Send the code."}
                return route.fulfill(status=401, json=problem, content_type="application/problem+json")
            # In place of the provider's account, the administrator's.
            keys = self.server.keys
            body = {"userName": keys["staffUser"], "password": keys["staffPassword"]}
            return route.continue_(url=self.server.url + "/admin/auth/login", post_data=json.dumps(body))

        self.window.expect_refusals(401)
        self.page.route(re.compile("/admin/auth/providers$"), lambda route: route.fulfill(json={"count": 1, "data": [{"name": "github"}]}))
        self.page.route(re.compile("/admin/auth/oidc/github/start$"), start)
        self.page.route(re.compile("/admin/auth/oidc/finish$"), finish)
        self.window.place("crashes")
        self.button("Continue with GitHub").click()
        self.page.get_by_label("Code").fill("123456")
        self.button("Continue").click()
        expect(self.page.locator("#main h1")).to_have_text("Crashes")
        self.assertEqual(started["redirectURL"], self.server.url + "/dashboard/")
        # A state that this window did not begin with is no sign-in.
        other = self.open_window()
        other.open("?code=somebody-elses&state=another")
        expect(other.page.get_by_label("User name")).to_be_visible()

    def test_who_has_no_password_signs_in_again_at_the_provider_and_the_page_continues(self):
        asked = []

        def me(route):
            # Playwright's own request lacks what a browser adds, and the gateway refuses it then.
            answer = route.fetch(headers={**route.request.all_headers(), "sec-fetch-site": "same-origin"})
            route.fulfill(response=answer, json={**answer.json(), "hasPassword": False, "identities": [{"provider": "github"}]})

        def make_key(route):
            if route.request.method != "POST":
                return route.continue_()
            asked.append(route.request.post_data_json["label"])
            if len(asked) > 1:
                return route.continue_()
            problem = {"status": 403, "code": "confirmation-required", "title": "Forbidden", "detail": "Confirm."}
            return route.fulfill(status=403, json=problem, content_type="application/problem+json")

        def start(route):
            # The provider would send the browser back to this address.
            route.fulfill(json={"url": route.request.post_data_json["redirectURL"] + "?code=the-code&state=the-state", "state": "the-state"})

        def finish(route):
            # In place of the provider's account, the administrator's.
            keys = self.server.keys
            body = {"userName": keys["staffUser"], "password": keys["staffPassword"]}
            route.continue_(url=self.server.url + "/admin/auth/login", post_data=json.dumps(body))

        self.window.expect_refusals(403)
        for path, answer in (
                ("/admin/me$", me), (r"/admin/apps/\w+/keys$", make_key), ("/admin/auth/oidc/github/start$", start), ("/admin/auth/oidc/finish$", finish),
                ("/admin/auth/providers$", lambda route: route.fulfill(json={"count": 2, "data": [{"name": "github"}, {"name": "other"}]}))):
            self.window.context.route(re.compile(path), answer)
        self.window.sign_in()
        # The answer to the sign-in says that the administrator has a password; the page asks /admin/me when it is opened.
        self.page.reload()
        self.window.place("settings")
        self.button("New key").click()
        self.dialog().get_by_label("Label").fill("made after a sign-in at GitHub")
        self.button("Create").click()
        question = self.page.get_by_role("dialog", name="Is it you?")
        expect(question).to_contain_text("You have no password here")
        expect(question.get_by_label("Password")).to_have_count(0)
        expect(question.get_by_role("button", name="Continue with other")).to_have_count(0)
        with self.page.expect_popup() as popup:
            question.get_by_role("button", name="Continue with GitHub").click()
        self.see("It is shown only once.")
        self.assertEqual(asked, ["made after a sign-in at GitHub"] * 2)
        self.until(popup.value.is_closed)
        self.window.open("account")
        self.see("You need a password for this.")

    def test_an_icon_and_the_pictures_of_a_version_are_uploaded_ordered_and_deleted(self):
        self.window.expect_refusals(415)
        self.window.sign_in()
        picture = {"name": "one.png", "mimeType": "image/png", "buffer": base64.b64decode(PICTURE)}
        self.window.place("settings?tab=app")
        self.page.get_by_label("Icon to upload").set_input_files(picture)
        icon = self.page.get_by_role("img", name="Icon of FindMyBike")
        expect(icon).to_be_visible()
        expect(icon).to_have_js_property("naturalWidth", 4)
        self.button("Remove").click()
        self.see("No icon yet.")
        self.window.place("settings?tab=versions")
        self.page.get_by_role("cell", name="1.1.0", exact=True).click()
        dialog = self.page.get_by_role("dialog", name="Version 1.1.0")
        files = dialog.get_by_label("Pictures to upload")
        files.set_input_files([picture, {**picture, "name": "two.png"}])
        pictures = dialog.get_by_role("list", name="Pictures")
        expect(pictures.get_by_role("img")).to_have_count(2)
        stored = lambda: [one["id"] for one in self.server.of_app("GET", "/versions/1.1.0")["pictures"]]
        self.assertEqual(self.window.violations(), [])
        first, second = stored()
        self.button("Move Picture 1 to the right").click()
        self.until(lambda: stored() == [second, first])
        # The page shows the new order a moment after the server has it.
        self.window.settle()
        self.button("Delete Picture 2").click()
        self.page.get_by_role("dialog", name="Delete Picture 2?").get_by_role("button", name="Delete").click()
        expect(pictures.get_by_role("img")).to_have_count(1)
        self.assertEqual(stored(), [second])
        files.set_input_files({"name": "notes.png", "mimeType": "image/png", "buffer": b"No picture"})
        self.see("The server refused this")
        self.assertEqual(stored(), [second])
        dialog.get_by_label("Notes").fill("Now with pictures")
        dialog.get_by_role("button", name="Save").click()
        expect(dialog).to_have_count(0)
        self.assertEqual(self.server.of_app("GET", "/versions/1.1.0")["notes"], {"en": "Now with pictures"})
        self.server.of_app("DELETE", f"/versions/1.1.0/pictures/{second}")

    def test_pushes_are_drawn_by_day_and_by_month_on_the_overview(self):
        steps = {
            "day": [{"from": f"2026-11-{day:02}T00:00:00Z", "messages": 1, "accepted": day, "failed": 0, "unknown": 0, "opened": 1} for day in range(1, 31)],
            "month": [{"from": f"2026-{month:02}-01T00:00:00Z", "messages": 9, "accepted": 700 + month, "failed": 0, "unknown": 0, "opened": 2} for month in range(1, 13)],
        }

        def answer(route):
            rows = steps[parse_qs(urlsplit(route.request.url).query)["interval"][0]]
            route.fulfill(json={"count": len(rows), "data": rows})

        self.window.sign_in()
        # The message of the seed, which waits to be sent.
        self.assertGreaterEqual(sum(day["messages"] for day in self.server.of_app("GET", "/notifications/messages/counts")["data"]), 1)
        self.window.place("overview")
        expect(self.page.get_by_role("img", name="Pushes, last 30 days")).to_be_visible()
        self.page.route(re.compile("/notifications/messages/counts"), answer)
        self.page.reload()
        tile = self.page.get_by_role("link").filter(has_text="Pushes today")
        expect(tile.locator(".value")).to_have_text("30")
        expect(tile).to_contain_text("465 in 30 days")
        section = self.page.locator("section").filter(has=self.page.get_by_role("heading", name="Pushes", exact=True))
        section.get_by_role("button", name="12 months").click()
        chart = section.locator("figure").filter(has=self.page.get_by_role("img", name="Pushes, last 12 months"))
        chart.get_by_text("Numbers").click()
        expect(chart.get_by_role("table")).to_contain_text("712")

    def test_a_provider_of_staff_is_set_up_and_a_member_is_linked(self):
        self.window.sign_in()
        self.window.open("staff?tab=providers")
        self.button("New provider").click()
        self.dialog().get_by_label("Client ids").fill("Iv1.staff")
        self.dialog().get_by_label("Client secret").fill("a secret of GitHub")
        self.button("Save").click()
        self.see(re.compile("/admin/auth/oidc/callback$"))
        self.button("Done").click()
        stored = self.server.admin("GET", "/identity-providers")["data"][0]
        self.assertEqual((stored["kind"], stored["redirectURLs"]), ("github", [self.server.url + "/dashboard/"]))
        dana = next(member for member in self.server.admin("GET", "/staff")["data"] if member["userName"] == "dana")
        self.window.open("staff/" + dana["id"])
        self.button("Link an account").click()
        self.dialog().get_by_label("Mail address there").fill("dana@example.org")
        self.dialog().get_by_role("button", name="Link", exact=True).click()
        linked = self.page.get_by_role("list", name="Sign-in with other accounts")
        expect(linked).to_contain_text("dana@example.org")
        linked.get_by_role("button", name="Remove").click()
        expect(linked.get_by_role("listitem")).to_have_count(0)
        self.page.get_by_label("First name").fill("Dana")
        self.button("Save").click()
        self.see("Saved")
        self.assertEqual(self.server.admin("GET", "/staff/" + dana["id"])["firstName"], "Dana")
        self.server.admin("DELETE", "/identity-providers/github")

    def test_settings_of_services_are_changed(self):
        self.window.sign_in()
        self.window.place("settings?tab=services")
        section = lambda title: self.page.locator("section").filter(has=self.page.get_by_role("heading", name=title, exact=True))
        objects = section("Limits of objects")
        objects.get_by_label("Maximum number optional", exact=True).fill("500000")
        objects.get_by_role("button", name="Save").click()
        self.until(lambda: self.server.of_app("GET", "/objects/usage").get("maximumObjects") == 500_000)
        reports = section("Crashes")
        reports.get_by_label("Days that reports are kept").fill("60")
        reports.get_by_role("button", name="Save").click()
        self.until(lambda: self.server.of_app("GET", "/crashes/settings")["retentionDays"] == 60)
        tickets = section("Tickets")
        tickets.get_by_label("Letters before the number").fill("bike 1")
        self.window.expect_refusals(400)
        tickets.get_by_role("button", name="Save").click()
        expect(tickets.locator(".error")).to_be_visible()
        self.server.of_app("PUT", "/crashes/settings", {"retentionDays": None})
        self.server.of_app("PUT", "/objects/limits", {})


if __name__ == "__main__":
    unittest.main(verbosity=2)
