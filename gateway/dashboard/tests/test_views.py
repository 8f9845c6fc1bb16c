"""The views of data: files, imports, moderation, hooks, roles, maps, history; and how new views show that they are empty or refused."""

import json
import re
import unittest

from playwright.sync_api import expect

from cases import BrowserTests

UNAVAILABLE = {"status": 503, "code": "unavailable", "title": "Unavailable", "detail": "The service does not answer.", "requestId": "r-1"}
VIEWS = [("files", "upload"), ("moderation", "reports"), ("hooks", "hooks"), ("jobs", "jobs"), ("definitions", "config/definition"), ("users?tab=roles", "roles"),
         ("sign-in?tab=providers", "auth/providers"), ("sign-in?tab=invitations", "auth/invitations"), ("sign-in?tab=clients", "auth/clients"),
         ("push?tab=rules", "notifications/rules"), ("push?tab=segments", "notifications/segments"), ("push?tab=templates", "notifications/templates"),
         ("crashes?tab=alerts", "crashes/alerts"), ("crashes?tab=symbols", "crashes/symbols"), ("analytics?question=saved", "analytics/questions")]


# Dialogs, by the page and the button that open them.
DIALOGS = [("storage", "New object"), ("storage/Bikes", "JSON · curl"), ("hooks", "New hook"), ("moderation", "Resolve…"), ("experiments", "New test"),
           ("languages/1.1.0", "Import"), ("settings", "New key"), ("settings?tab=versions", "New version"), ("tickets", "New ticket"), ("tickets?view=labels", "New label"), ("tickets?view=sprints", "New sprint"), ("mail?tab=templates", "New template"), ("files", "price-list.csv"),
           ("sign-in?tab=providers", "New provider"), ("sign-in?tab=invitations", "New invitation"), ("sign-in?tab=clients", "New application"), ("sign-in?tab=mail", "sign-in, en: built in"),
           ("push?tab=rules", "New rule"), ("push?tab=rules", "order-sent"), ("configuration/1.1.0~Light?tab=screens", "New element"), ("definitions/kick-in", "New part"), ("languages/1.1.0", "Export"), ("crashes?tab=alerts", "New alert"), ("jobs", "Test environment…"), ("analytics", "Save")]

# Controls that are too low for a finger. A checkbox is hit by its label.
LOW_CONTROLS = """() => [...document.querySelectorAll("button, select, textarea, input, summary.button")]
  .map(one => one.type === "checkbox" ? one.closest("label") ?? one : one)
  .filter(one => one.checkVisibility() && !one.closest(".hidden"))
  .map(one => ({ name: one.innerText || one.ariaLabel || one.className, height: one.getBoundingClientRect().height }))
  .filter(one => one.height < 43.5).map(one => `${one.name}: ${one.height}`)"""


def contrast(one, other):
    """The contrast of two colours, such as rgb(1, 2, 3), by WCAG 2.1."""
    def luminance(colour):
        parts = [int(part) / 255 for part in re.findall(r"\d+", colour)[:3]]
        red, green, blue = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue
    darker, lighter = sorted((luminance(one), luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


class ViewTests(BrowserTests):
    def test_every_page_opens_in_german_and_fits_a_phone_and_a_finger(self):
        low = []
        window = self.open_window(language="de-DE", size=(390, 844))
        window.open()
        window.page.get_by_label("Benutzername").fill("admin")
        window.page.get_by_label("Passwort").fill(self.server.keys["staffPassword"])
        window.page.get_by_role("button", name="Anmelden").click()
        expect(window.page.locator("h1")).to_have_text("FindMyBike")
        for path in self.each_page(window):
            self.assertLessEqual(window.page.locator("body").evaluate("body => body.scrollWidth"), 390, path)
            low += [f"{path} {one}" for one in window.page.evaluate(LOW_CONTROLS)]
        self.assertEqual(low, [])

    def test_dialogs_and_the_sign_in_fulfil_wcag(self):
        violations = []
        for look in ("light", "dark"):
            window = self.open_window(look=look)
            window.open()
            window.page.get_by_label("Password").wait_for()
            violations += window.violations()
            window.sign_in()
            for path, button in DIALOGS:
                window.place(path)
                window.page.get_by_role("button", name=button, exact=True).first.click()
                window.page.get_by_role("dialog").wait_for()
                violations += [f"{path} {button} {look}: {one}" for one in window.violations()]
            window.page.keyboard.press("Escape")
            window.page.keyboard.press("Control+k")
            window.page.get_by_role("combobox", name="Search and commands").wait_for()
            violations += [f"palette {look}: {one}" for one in window.violations()]
        self.assertEqual(violations, [])

    def test_files_are_uploaded_seen_replaced_and_deleted(self):
        self.window.expect_refusals(412)
        self.window.sign_in()
        self.window.place("files")
        self.button("pictures").click()
        self.button("red-bike.png").click()
        expect(self.dialog().get_by_role("img", name="red-bike.png")).to_be_visible()
        self.page.reload()  # An open dialog is part of the address.
        expect(self.dialog().get_by_role("img", name="red-bike.png")).to_be_visible()
        self.dialog().get_by_role("button", name="Close").click()
        file = {"name": "read me.txt", "mimeType": "text/plain", "buffer": b"First words"}
        self.page.get_by_label("Files to upload").set_input_files(file)
        self.button("read me.txt").click()
        self.see("First words")
        self.dialog().get_by_role("button", name="Close").click()
        self.page.get_by_label("Files to upload").set_input_files({**file, "buffer": b"Second words"})
        self.see("Replace read me.txt?")
        self.dialog().get_by_role("button", name="Replace").click()
        expect(self.dialog()).to_have_count(0)
        self.button("read me.txt").click()
        self.see("Second words")
        expect(self.dialog().locator("tr[data-row]")).to_have_count(2)
        self.dialog().get_by_role("button", name="Delete").click()
        self.page.get_by_role("dialog", name="Delete read me.txt?").get_by_role("button", name="Delete").click()
        expect(self.button("read me.txt")).to_have_count(0)
        self.page.go_back()
        expect(self.button("price-list.csv")).to_be_visible()
        self.window.place("files?open=pictures/red-bike.png")  # The list of the root does not have it.
        expect(self.dialog().get_by_role("img", name="red-bike.png")).to_be_visible()

    def test_an_import_shows_its_rows_and_their_errors_before_it_stores_any(self):
        self.window.sign_in()
        self.window.place("storage/Bikes")
        self.page.get_by_label("More about Bikes").click()
        self.page.get_by_role("menuitem", name="Import a file…").click()
        rows = [{"_id": "bike-001", "brand": "Taken"}, {"_id": "new-1", "brand": "Koga"}]
        file = {"name": "bikes.jsonl", "mimeType": "application/x-ndjson", "buffer": "\n".join(map(json.dumps, rows)).encode()}
        self.dialog().get_by_label("File", exact=True).set_input_files(file)
        expect(self.dialog().get_by_role("table", name="Preview")).to_contain_text("Koga")
        self.button("Check the file").click()
        errors = self.dialog().get_by_role("table", name="Rows with an error")
        expect(errors.locator("tr[data-row]")).to_have_count(1)
        expect(self.button("Import")).to_have_count(0)
        self.dialog().get_by_label("Rows whose id exists").select_option("skip")
        self.button("Check the file").click()
        self.see("Every row can be imported.")
        self.button("Import").click()
        self.see("1 new, 0 replaced, 1 skipped")
        self.button("Done").click()
        self.assertEqual(self.server.as_server("GET", "/storage/Bikes/new-1")["brand"], "Koga")
        self.window.place("jobs")
        self.button("Import").first.click()
        self.see("1 new, 0 replaced, 1 skipped")
        self.server.as_server("DELETE", "/storage/Bikes/new-1")

    def test_what_a_user_reported_is_looked_at_and_resolved(self):
        self.window.sign_in()
        self.window.place("moderation")
        row = self.page.get_by_role("row").filter(has_text="This is not a bike at all.")
        expect(row.get_by_role("link").first).to_contain_text("Sightings")
        row.get_by_role("button", name="Resolve…").click()
        self.dialog().get_by_label("The object").select_option("hide")
        self.dialog().get_by_label("What was decided").fill("Hidden")
        self.dialog().get_by_role("button", name="Resolve").click()
        self.see("1 report resolved")
        expect(row).to_have_count(0)
        self.button("Resolved").click()
        self.see("Hidden")
        self.page.get_by_role("row").filter(has_text="Hidden").get_by_role("link").first.click()
        self.see("_readers")
        self.window.place("moderation?state=resolved")
        self.button("Decide again…").first.click()
        self.dialog().get_by_label("The object").select_option("restore")
        self.dialog().get_by_role("button", name="Resolve").click()
        self.see("0 reports resolved")

    def test_a_hook_is_made_and_its_secret_is_shown_once(self):
        self.window.sign_in()
        self.window.place("hooks")
        self.button("New hook").click()
        self.dialog().get_by_label("Name").fill("check-price")
        self.dialog().get_by_label("When").select_option("beforeSave")
        self.dialog().get_by_label("Collection").fill("Prices")
        self.dialog().get_by_label("Address").fill("https://hooks.example.org/price")
        self.button("Save").click()
        self.see(re.compile("^whsec_"))
        self.button("Done").click()
        self.page.get_by_role("link", name="check-price").click()
        self.see("No failures")
        self.page.get_by_label("More", exact=True).click()
        self.page.get_by_role("menuitem", name="Delete").click()
        self.dialog().get_by_role("button", name="Delete").click()
        expect(self.page).to_have_url(re.compile("/hooks$"))
        expect(self.page.get_by_role("link", name="check-price")).to_have_count(0)

    def test_a_role_is_made_and_a_user_gets_and_loses_it(self):
        user = self.server.of_app("GET", "/auth/users?userName=linus")["data"][0]["id"]
        self.window.sign_in()
        self.window.place("users?tab=roles")
        self.button("New role").click()
        self.dialog().get_by_label("Name").fill("finders")
        self.button("Create").click()
        self.dialog().get_by_label("Id of a user, or role:name").fill(user)
        self.button("Add").click()
        expect(self.dialog().get_by_text(user)).to_be_visible()
        self.button("Remove").click()
        self.see("Nobody has this role.")

    def test_places_are_drawn_and_open_their_objects(self):
        self.window.sign_in()
        self.window.place("storage/Bikes")
        self.button("Map").click()
        spots = self.page.locator(".spot")
        expect(spots).to_have_count(100)
        self.page.reload()
        spots.first.dispatch_event("click")
        expect(self.page).to_have_url(re.compile(r"/storage/Bikes/[\w-]+$"))

    def test_an_object_shows_what_staff_changed(self):
        self.server.of_app("PATCH", "/storage/Bikes/bike-009", {"colour": "green and white"})
        self.window.sign_in()
        self.window.place("storage/Bikes/bike-009?tab=history")
        row = self.page.get_by_role("row").filter(has_text="admin").first
        expect(row).to_contain_text("colour")

    def test_rules_are_tried_and_set_back(self):
        self.window.sign_in()
        self.window.place("storage/Sightings?tab=rules")
        sighting = self.server.as_server("GET", "/storage/Sightings?limit=1")["data"][0]["_id"]
        self.page.get_by_label("Id of the object").fill(sighting)
        self.button("Try").click()
        self.see("Allowed.")
        self.page.get_by_label("What", exact=True).select_option("delete")
        self.button("Try").click()
        self.see("Refused.")
        self.page.get_by_role("tab", name="JSON").click()
        self.page.get_by_label("rules").fill('{"rules": {"find": ["*"]}}')
        self.button("Save").click()
        versions = self.page.get_by_role("table", name="Versions")
        expect(versions.locator("tr[data-row]")).to_have_count(2)
        versions.get_by_role("button", name="Go back").first.click()
        self.dialog().get_by_role("button", name="Go back").click()
        expect(versions.locator("tr[data-row]")).to_have_count(3)
        self.assertEqual(self.server.as_server("GET", "/collections/Sightings/rules")["rules"]["get"], ["*"])

    def test_rules_of_a_collection_are_set_by_clicking_and_a_condition_that_the_form_cannot_show_stays(self):
        self.window.expect_refusals(400)
        self.server.as_server("PUT", "/collections/Diary/rules", {"rules": {"find": [{"where": {"people": {"$all": ["$user.id"]}}}], "create": ["authenticated"]}})
        before = self.server.as_server("GET", "/collections/Diary/rules")["rules"]
        self.window.sign_in()
        self.window.place("storage/Diary?tab=rules")

        def card(name):
            return self.page.get_by_role("group", name=name, exact=True)
        expect(card("See in lists")).to_contain_text("The form cannot show this")
        card("Read one").get_by_label("Read one").select_option("chosen")
        expect(card("Read one").get_by_label("Field", exact=True)).to_have_value("owner")
        card("Delete").get_by_label("Delete").select_option("nobody")
        change = card("Change")
        change.get_by_label("Change").select_option("chosen")
        change.get_by_role("button", name="Add users under a condition").click()
        change.get_by_role("button", name="Remove entry 1").click()
        change.get_by_label("Attribute").fill("author")
        change.get_by_label("Only these fields may change").fill("text")
        create = card("Create")
        create.get_by_label("Create").select_option("chosen")
        create.get_by_label("Who", exact=True).select_option("role")
        create.get_by_label("Role", exact=True).fill("nobody-here")
        self.assertEqual(self.window.violations(), [])
        self.button("Save").click()
        expect(create).to_contain_text("There is no role")
        create.get_by_label("Role", exact=True).fill("moderators")
        self.button("Save").click()
        self.see("Saved")
        self.assertEqual(self.server.as_server("GET", "/collections/Diary/rules")["rules"], {
            **before, "create": ["role:moderators"], "get": ["field:owner"], "delete": [],
            "update": [{"who": ["authenticated"], "where": {"author": "$user.id"}, "fields": ["text"]}]})

    def test_sign_ins_are_counted_by_month(self):
        self.window.sign_in()
        self.window.open("staff?tab=sign-ins")
        expect(self.page.get_by_role("list", name="By member")).to_contain_text("admin")

    def test_the_size_of_a_test_is_told_before_it_starts(self):
        self.window.sign_in()
        self.window.place("experiments/checkout?tab=size")
        self.see("14,751 in each variation")
        self.page.get_by_label("Smallest change").fill("20")
        expect(self.page.get_by_text("14,751")).to_have_count(0)
        self.page.get_by_label("Share now").fill("0")
        self.see("The shares must lie between 0 and 100 percent.")

    def test_sessions_and_screens_are_drawn_and_saved_as_csv(self):
        self.window.sign_in()
        self.window.place("analytics?question=screens")
        expect(self.page.get_by_role("list", name="Most viewed screens")).to_contain_text("Map")
        with self.page.expect_download() as download:
            self.button("CSV").click()
        self.assertIn("Map", download.value.path().read_text())
        self.page.get_by_role("tab", name="Sessions").click()
        self.see("Average length in minutes")

    def test_two_crashes_are_merged_and_split_again_and_the_history_tells_it(self):
        for name in ("MergeA", "MergeB"):
            self.server.as_client("POST", "/storage/TBException", [{"level": "Error", "name": name, "reason": name, "method": name, "file": name, "line": 1}])
        self.window.sign_in()
        self.window.place("crashes?text=Merge")
        rows = self.page.locator("tr[data-row]")
        for _ in range(120):
            if rows.count() == 2:
                break
            self.page.wait_for_timeout(500)
            self.page.reload()
            self.window.settle()
        for index in (0, 1):
            rows.nth(index).get_by_role("checkbox").check()
        self.button("Merge…").click()
        self.dialog().get_by_role("button", name="Merge").click()
        expect(rows).to_have_count(1)
        rows.first.get_by_role("link").click()
        self.button("12 months").click()
        expect(self.page.get_by_role("img", name="Reports, last 12 months")).to_be_visible()
        history = self.page.get_by_role("list", name="History")
        expect(history.get_by_role("listitem").filter(has_text="Merged with #").filter(has_text="admin")).to_have_count(1)
        self.page.get_by_label("Assignee").select_option("admin")
        expect(history).to_contain_text("Assigned to admin")
        self.page.get_by_label("More", exact=True).click()
        self.page.get_by_role("menuitem", name="Split…").click()
        kinds = self.dialog().get_by_role("row").filter(has_text="MergeB")
        expect(kinds.first).to_be_visible()
        expect(self.button("Split off")).to_be_disabled()
        self.assertEqual(self.window.violations(), [])
        for kind in kinds.all():
            kind.get_by_role("checkbox").check()
        self.button("Split off").click()
        expect(self.page.locator("h1")).to_contain_text("MergeB")
        expect(history.get_by_role("listitem").filter(has_text="Split off from #").filter(has_text="admin")).to_have_count(1)
        history.get_by_role("link").click()
        expect(self.page.locator("h1")).to_contain_text("MergeA")
        expect(history).to_contain_text("Some reports were split off")
        self.page.get_by_label("More", exact=True).click()
        self.page.get_by_role("menuitem", name="Split…").click()
        self.see("There is nothing to split")

    def test_a_definition_is_made_and_published(self):
        self.window.sign_in()
        self.window.place("definitions")
        self.button("New definition").click()
        self.dialog().get_by_label("Name").fill("tour")
        self.button("Create").click()
        self.button("Publish").click()
        self.dialog().get_by_role("button", name="Publish").click()
        self.see("Live: version 1")

    # Sign-in of users

    def test_rules_of_sign_up_are_changed(self):
        self.window.sign_in()
        self.window.place("sign-in")
        box = self.page.get_by_label("People can sign up only with an invitation")
        box.check()
        self.page.get_by_label("Addresses that links in mail").fill("https://example.org/open?token={token}")
        self.button("Save").click()
        self.see("Saved")
        settings = self.server.of_app("GET", "/auth/settings")
        self.assertEqual((settings["inviteOnly"], settings["linkURLs"]), (True, ["https://example.org/open?token={token}"]))
        self.page.reload()
        box.uncheck()
        self.button("Save").click()
        self.see("Saved")

    def test_a_provider_is_added_changed_without_its_secret_and_removed(self):
        self.window.sign_in()
        self.window.place("sign-in?tab=providers")
        self.button("New provider").click()
        self.dialog().get_by_label("Kind").select_option("github")
        expect(self.dialog().get_by_label("Name")).to_have_value("github")
        self.dialog().get_by_label("Client ids").fill("Iv1.0123456789")
        self.dialog().get_by_label("Client secret").fill("a secret of GitHub")
        self.button("Save").click()
        expect(self.dialog()).to_have_count(0)
        self.button("github").click()
        expect(self.dialog().get_by_label("Client secret")).to_have_value("")
        self.dialog().get_by_label("Client ids").fill("Iv1.9876543210")
        self.button("Save").click()
        expect(self.dialog()).to_have_count(0)
        stored = next(one for one in self.server.of_app("GET", "/auth/providers")["data"] if one["name"] == "github")
        self.assertEqual((stored["clientIDs"], stored["hasSecret"]), (["Iv1.9876543210"], True))
        self.page.get_by_label("More about github").click()
        self.page.get_by_role("menuitem", name="Remove").click()
        self.dialog().get_by_role("button", name="Remove").click()
        expect(self.button("github")).to_have_count(0)

    def test_an_invitation_gives_a_code_once_and_is_withdrawn(self):
        self.window.sign_in()
        self.window.place("sign-in?tab=invitations")
        rows = self.page.locator("tr[data-row]")
        expect(rows.first).to_be_visible()
        count = rows.count()
        self.button("New invitation").click()
        self.button("Invite").click()
        self.see(re.compile(r"^\w{4}-\w{4}-\w{4}-\w{4}$"))
        self.button("Done").click()
        expect(rows).to_have_count(count + 1)
        self.button("Withdraw").first.click()
        expect(rows).to_have_count(count)

    def test_another_application_gets_a_secret_and_is_deleted(self):
        self.window.sign_in()
        self.window.place("sign-in?tab=clients")
        self.button("New application").click()
        self.dialog().get_by_label("Name").fill("Wiki")
        self.dialog().get_by_label("Addresses that it returns to").fill("https://wiki.example.org/back")
        self.dialog().get_by_label("offline_access").uncheck()
        self.button("Save").click()
        self.see("The application's secret")
        self.button("Done").click()
        stored = next(one for one in self.server.of_app("GET", "/auth/clients")["data"] if one["name"] == "Wiki")
        self.assertEqual(sorted(stored["scopes"]), ["email", "openid", "profile"])
        self.page.get_by_label("More about Wiki").click()
        self.page.get_by_role("menuitem", name="Delete").click()
        self.dialog().get_by_role("button", name="Delete").click()
        expect(self.button("Wiki")).to_have_count(0)

    def test_a_mail_text_is_previewed_stored_and_set_back(self):
        self.window.sign_in()
        self.window.place("sign-in?tab=mail")
        self.button("reset-password, en: built in").click()
        self.dialog().get_by_label("Subject").fill("A new password for {{app}}")
        self.dialog().get_by_label("Text", exact=True).fill("Your code: {{code}}")
        self.button("Preview").click()
        self.see("A new password for FindMyBike")
        self.see("Your code: 482 913")
        self.button("Save").click()
        self.button("reset-password, en: own").click()
        expect(self.dialog().get_by_label("Subject")).to_have_value("A new password for {{app}}")
        self.button("Use the built-in text").click()
        expect(self.button("reset-password, en: built in")).to_be_visible()
        self.button("role-invitation, de: built in").click()
        self.dialog().get_by_label("Subject").fill("{{app}}: {{role}}")
        self.dialog().get_by_label("Text", exact=True).fill("{{code}}")
        self.button("Preview").click()
        self.see("FindMyBike: cyclists")
        self.button("Save").click()
        self.button("role-invitation, de: own").click()
        self.button("Use the built-in text").click()
        expect(self.button("role-invitation, de: built in")).to_be_visible()

    def test_a_sender_of_mail_is_set_and_a_test_mail_says_what_is_missing(self):
        self.window.expect_refusals(501)
        self.window.sign_in()
        self.window.place("sign-in?tab=sender")
        self.page.get_by_label("Name of the sender").fill("The bikes")
        self.page.get_by_label("Mail address").fill("hello@bikes.example")
        self.button("Save").click()
        self.see("Saved")
        self.assertEqual(self.server.of_app("GET", "/auth/mail")["address"], "hello@bikes.example")
        self.page.get_by_label("To", exact=True).fill("grace@example.org")
        self.button("Send").click()
        self.see("Not set up")
        self.button("Remove the sender").click()
        self.dialog().get_by_role("button", name="Remove the sender").click()
        expect(self.page.get_by_label("Mail address")).to_have_value("")

    # Push, crashes, tickets, the test environment

    def test_a_template_a_segment_and_a_rule_are_written_tried_and_deleted(self):
        self.window.sign_in()
        for tab, add, text in (
                ("templates", "New template", {"content": {"title": "{{title}}"}}), ("segments", "New segment", {"audience": {"platforms": ["web"]}}),
                ("rules", "New rule", {"when": {"collection": "Parcels", "events": ["created"]}, "where": {"object.paid": True}, "to": [{"user": "ada"}], "content": {"title": "Paid"}})):
            self.window.place(f"push?tab={tab}")
            self.button(add).click()
            self.dialog().get_by_label("Name").fill("new-one")
            if tab != "templates":
                self.dialog().get_by_role("tab", name="JSON").click()
            self.dialog().get_by_label("JSON").fill(json.dumps(text))
            self.button("Save").click()
            self.button("new-one").click()
            if tab == "segments":
                self.button("Count devices").click()
                self.see("0 devices")
            if tab == "rules":
                self.dialog().get_by_role("tab", name="Try").click()
                self.dialog().get_by_label("What happens").fill('{"object": {"paid": true}}')
                self.button("Try").click()
                self.see("The rule matches.")
                self.dialog().get_by_role("tab", name="Runs").click()
                self.see("It has not run yet")
            self.dialog().get_by_role("button", name="Close").click()
            self.page.get_by_label("More about new-one").click()
            self.page.get_by_role("menuitem", name="Delete").click()
            self.dialog().get_by_role("button", name="Delete").click()
            expect(self.button("new-one")).to_have_count(0)

    def test_a_segment_and_a_push_rule_are_made_by_clicking_and_what_the_form_cannot_show_stays(self):
        self.window.sign_in()
        self.window.place("push?tab=segments")
        self.button("New segment").click()
        dialog = self.dialog()
        dialog.get_by_label("Name", exact=True).fill("web-users")
        dialog.get_by_label("ios", exact=True).uncheck()
        dialog.get_by_label("web", exact=True).check()
        dialog.get_by_label("In one of these channels").fill("news, sport")
        self.window.expect_refusals(400)
        dialog.get_by_label("Ids of installations").fill("none")
        self.button("Save").click()
        expect(dialog.locator(".field", has_text="Ids of installations").locator(".error")).to_contain_text("installation id")
        dialog.get_by_label("Ids of installations").fill("")
        self.button("Add a condition").click()
        dialog.get_by_label("Attribute").fill("locale")
        dialog.get_by_label("Value", exact=True).fill("de")
        self.assertEqual(self.window.violations(), [])
        self.button("Save").click()
        expect(self.button("web-users")).to_be_visible()
        audience = self.server.of_app("GET", "/notifications/segments/web-users")["audience"]
        self.assertEqual(audience, {"platforms": ["web"], "channels": ["news", "sport"], "where": {"locale": "de"}})

        unknown = {
            "when": {"collection": "Parcels", "events": ["created"]}, "if": {"==": [{"var": "object.weight"}, 1]}, "to": [{"user": "ada"}],
            "where": {"changed": {"$elemMatch": {"$eq": "state"}}}, "content": {"title": "Paid", "data": {"parcel": "{{id}}"}}}
        self.server.of_app("PUT", "/notifications/rules/kept", unknown)
        self.window.place("push?tab=rules")
        self.button("kept").click()
        expect(dialog.get_by_text("The form cannot show this")).to_have_count(3)
        dialog.get_by_label("Title", exact=True).fill("Paid in full")
        self.button("Save").click()
        expect(dialog).to_have_count(0)
        stored = self.server.of_app("GET", "/notifications/rules/kept")
        unknown["content"]["title"] = "Paid in full"
        self.assertEqual({name: stored[name] for name in unknown}, unknown)

        self.button("New rule").click()
        dialog.get_by_label("Name", exact=True).fill("parcel-paid")
        # A new rule is empty, and the browser asks for what is missing.
        self.button("Save").click()
        expect(dialog.get_by_label("Collection", exact=True)).to_be_focused()
        dialog.get_by_label("Collection", exact=True).fill("Parcels")
        dialog.get_by_label("it is created").uncheck()
        dialog.get_by_label("it is changed").check()
        self.button("Add a condition").click()
        dialog.get_by_label("Attribute").fill("object.paid")
        dialog.get_by_label("Value", exact=True).fill("true")
        dialog.get_by_label("Kind of recipient").select_option("user")
        dialog.get_by_label("Id", exact=True).fill("ada")
        dialog.get_by_label("Not to whoever made the change").check()
        dialog.get_by_label("Title", exact=True).fill("Paid")
        self.button("Save").click()
        expect(dialog).to_have_count(0)
        rule = {
            "when": {"collection": "Parcels", "events": ["updated"]}, "where": {"object.paid": True}, "to": [{"user": "ada"}],
            "except": ["actor"], "content": {"title": "Paid"}}
        stored = self.server.of_app("GET", "/notifications/rules/parcel-paid")
        self.assertEqual({name: stored[name] for name in rule}, rule)

    def test_an_alert_is_made_changed_and_deleted(self):
        self.window.sign_in()
        self.window.place("crashes?tab=alerts")
        self.button("New alert").click()
        self.dialog().get_by_label("Name").fill("Too many")
        self.dialog().get_by_label("When").select_option("rate")
        self.dialog().get_by_label("Reports").fill("50")
        self.dialog().get_by_label("within how many minutes").fill("5")
        self.dialog().get_by_label("fatal").check()
        self.dialog().get_by_label("To", exact=True).select_option("notification")
        self.button("Save").click()
        self.see("50 reports in 5 min")
        self.button("Too many").click()
        self.dialog().get_by_label("When").select_option("newIssue")
        self.button("Save").click()
        self.see("A new issue")
        stored = next(one for one in self.server.of_app("GET", "/crashes/alerts")["data"] if one["name"] == "Too many")
        self.assertEqual((stored["kind"], stored["levels"]), ("newIssue", ["fatal"]))
        self.page.get_by_label("More about Too many").click()
        self.page.get_by_role("menuitem", name="Delete").click()
        self.dialog().get_by_role("button", name="Delete").click()
        expect(self.button("Too many")).to_have_count(0)

    def test_a_file_is_attached_to_a_ticket_downloaded_and_deleted(self):
        self.window.sign_in()
        self.window.place("tickets/5")
        file = {"name": "slow.txt", "mimeType": "text/plain", "buffer": b"12 s for one photo"}
        self.page.get_by_label("Files to attach").set_input_files(file)
        with self.page.expect_download() as download:
            self.button("slow.txt").click()
        self.assertEqual(download.value.path().read_bytes(), file["buffer"])
        self.button("Delete slow.txt").click()
        self.dialog().get_by_role("button", name="Delete").click()
        expect(self.button("slow.txt")).to_have_count(0)

    def test_labels_get_colours_that_can_be_read_in_light_and_dark(self):
        self.window.sign_in()
        self.window.place("tickets?view=labels")
        self.button("New label").click()
        self.dialog().get_by_label("Name").fill("shop")
        colours = self.dialog().locator(".label-colour").evaluate_all("all => all.map(one => getComputedStyle(one).backgroundColor)")
        self.assertEqual(len(set(colours)), 10)
        for colour in colours:
            self.assertGreaterEqual(contrast(colour, "rgb(255, 255, 255)"), 4.5, colour)
            self.assertGreaterEqual(contrast(colour, "rgb(23, 28, 29)"), 3, colour)
        self.button("Teal").click()
        expect(self.button("Teal")).to_have_attribute("aria-pressed", "true")
        self.dialog().get_by_role("button", name="Create").click()
        row = self.page.get_by_role("table", name="Labels").get_by_role("row").filter(has_text="shop")
        expect(row.locator(".label-chip")).to_have_css("background-color", "rgb(13, 127, 134)")
        row.get_by_label("More about shop").click()
        self.page.get_by_role("menuitem", name="Edit").click()
        self.dialog().get_by_label("Name").fill("web shop")
        self.button("Pink").click()
        self.dialog().get_by_role("button", name="Save").click()
        expect(row).to_contain_text("web shop")
        label = next(one for one in self.server.of_app("GET", "/tickets/labels")["data"] if one["name"] == "web shop")
        self.assertEqual(label["color"], "#b8408f")
        row.get_by_label("More about web shop").click()
        self.page.get_by_role("menuitem", name="Delete").click()
        self.dialog().get_by_role("button", name="Delete").click()
        expect(row).to_have_count(0)

    def test_a_sprint_is_planned_changed_and_deleted(self):
        self.window.sign_in()
        self.window.place("tickets?view=sprints")
        self.button("New sprint").click()
        self.dialog().get_by_label("Name").fill("Week 49")
        self.dialog().get_by_label("Goal").fill("Nobody loses a bike")
        self.dialog().get_by_role("button", name="Create").click()
        rows = self.page.get_by_role("table", name="Sprints").get_by_role("row")
        row = rows.filter(has_text="Nobody loses a bike")
        row.get_by_label("More about Week 49").click()
        self.page.get_by_role("menuitem", name="Edit").click()
        self.dialog().get_by_label("Name").fill("Week 50")
        self.dialog().get_by_label("Last day").fill("2026-12-11")
        self.dialog().get_by_role("button", name="Save").click()
        expect(row).to_contain_text("Week 50")
        self.button("Undo").click()
        expect(row).to_contain_text("Week 49")
        row.get_by_label("More about Week 49").click()
        self.page.get_by_role("menuitem", name="Delete").click()
        self.dialog().get_by_role("button", name="Delete").click()
        expect(row).to_have_count(0)
        rows.filter(has_text="Week 48").get_by_label("More about Week 48").click()
        expect(self.page.get_by_role("menuitem", name="Edit")).to_be_visible()
        expect(self.page.get_by_role("menuitem", name="Delete")).to_have_count(0)

    def test_several_tickets_are_changed_put_into_the_bin_and_taken_back(self):
        first = [("todo", []), ("onHold", ["map"]), ("todo", ["checkout"])]
        numbers = [self.server.of_app("POST", "/tickets", {"title": f"Bulky {index}", "status": status, "labels": labels})["number"]
                   for index, (status, labels) in enumerate(first)]

        def stored():
            tickets = [self.server.of_app("GET", f"/tickets/{number}") for number in numbers]
            return [(one["status"], one["sprint"], one["labels"]) for one in tickets]

        self.window.sign_in()
        self.window.place("tickets?view=list&search=Bulky")
        rows = self.page.locator("tr[data-row]")
        expect(rows).to_have_count(3)
        bar = self.page.get_by_role("group", name="Selected tickets")

        def change(**fields):
            self.page.get_by_label("Select all rows").check()
            bar.get_by_role("button", name="Change…").click()
            for label, value in fields.items():
                self.dialog().get_by_label(label.replace("_", " ")).select_option(value)
            self.dialog().get_by_role("button", name="Change", exact=True).click()

        change(Status="inProgress", Sprint="1", Add_a_label="map")
        expect(rows.filter(has_text="In progress")).to_have_count(3)
        self.assertEqual(stored(), [("inProgress", 1, labels) for labels in (["map"], ["map"], ["checkout", "map"])])
        self.button("Undo").click()
        expect(rows.filter(has_text="In progress")).to_have_count(0)
        self.assertEqual(stored(), [(status, None, labels) for status, labels in first])
        change(Status="complete")
        expect(rows.filter(has_text="Complete")).to_have_count(3)
        self.button("Undo").click()
        expect(rows.filter(has_text="Complete")).to_have_count(0)
        self.assertEqual(stored(), [(status, None, labels) for status, labels in first])

        # Stopped while the first ticket is under way, so the others stay.
        held = []
        self.page.route(re.compile(r"/tickets/\d+$"), lambda route: held.append(route) if route.request.method == "DELETE" else route.continue_())
        self.page.get_by_label("Select all rows").check()
        bar.get_by_role("button", name="Move to the bin").click()
        self.dialog().get_by_role("button", name="Move to the bin").click()
        self.until(lambda: held)
        bar.get_by_role("button", name="Stop").click()
        held[0].continue_()
        self.see("1 ticket changed")
        expect(rows).to_have_count(2)
        expect(bar).to_contain_text("2 selected")
        self.button("Undo").click()
        expect(rows).to_have_count(3)

    def test_live_is_copied_to_test_after_the_password_was_asked_for(self):
        self.window.expect_refusals(403)
        self.window.sign_in()
        refusal = {"status": 403, "code": "confirmation-required", "title": "Forbidden", "detail": "Confirm."}
        self.page.route(re.compile("/environment/copy$"), lambda route: route.fulfill(status=403, json=refusal, content_type="application/problem+json"), times=1)
        self.window.place("jobs")
        self.button("Test environment…").click()
        self.button("Copy live to test…").click()
        question = self.page.get_by_role("dialog", name="Replace the test data with a copy of live?")
        question.get_by_label("Type FindMyBike to confirm").fill("FindMyBike")
        question.get_by_role("button", name="Copy", exact=True).click()
        self.page.get_by_label("Password").fill(self.server.keys["staffPassword"])
        self.page.get_by_label("Password").press("Enter")
        self.see("The copy is finished.", exact=True)
        test = {"X-Martlet-Environment": "test"}
        self.assertEqual(self.server.of_app("GET", "/storage/Bikes/bike-001", headers=test)["_id"], "bike-001")
        self.button("Empty it…").click()
        question = self.page.get_by_role("dialog", name="Empty the test environment?")
        question.get_by_label("Type FindMyBike to confirm").fill("FindMyBike")
        question.get_by_role("button", name="Empty it", exact=True).click()
        self.see("The test environment is empty.")
        self.assertEqual(self.server.of_app("GET", "/storage/Bikes", headers=test)["data"], [])

    def test_new_views_say_that_they_are_empty(self):
        self.window.sign_in()
        for path, _ in VIEWS:
            self.window.place(path, "test")
            self.window.settle()
            expect(self.page.locator(".empty h3")).to_be_visible()
            expect(self.page.locator(".refused")).to_have_count(0)

    def test_new_views_wait_and_say_when_a_part_of_the_server_is_away(self):
        self.window.expect_refusals(503)
        self.window.sign_in()
        for path, call in VIEWS:
            address = re.compile(rf"/admin/apps/[^/]+/{call}(\?|$)")
            self.page.route(address, lambda route: route.fulfill(status=503, json=UNAVAILABLE, content_type="application/problem+json"))
            self.window.place(path)
            self.see("A part of the server is not available")
            self.page.unroute(address)
            waiting, is_held = [], True
            self.page.route(address, lambda route: waiting.append(route) if is_held else route.continue_())
            self.window.place(path)
            expect(self.page.locator(".loading").first).to_be_attached()
            while not waiting:
                self.page.wait_for_timeout(20)
            is_held = False
            for route in waiting:
                route.continue_()
            expect(self.page.locator(".loading")).to_have_count(0)
            self.page.unroute(address)


if __name__ == "__main__":
    unittest.main(verbosity=2)
