"""What apps get from the server: screens and themes of a configuration, app definitions, texts, planned publications."""

import datetime
import re
import unittest

from playwright.sync_api import expect

from cases import BrowserTests


class DeliveryTests(BrowserTests):
    def setUp(self):
        super().setUp()
        self.window.sign_in()

    def stored(self, kind, name):
        return self.server.of_app("GET", f"/config/{kind}/{name}")

    def test_a_screen_is_edited_by_the_catalogue_and_seen_on_a_phone(self):
        colours = [{"name": "ink", "red": 10, "green": 20, "blue": 30, "alpha": 1}]
        self.server.of_app("PUT", "/config/configuration/4.0.0", {"mainSettings": {}, "colors": colours}, {"If-None-Match": "*"})
        self.window.place("configuration/4.0.0?tab=screens")
        self.button("New screen").click()
        self.dialog().get_by_label("Name").fill("Start")
        self.button("Add").click()
        self.button("New element").click()
        self.dialog().get_by_label("Name").fill("greeting")
        self.dialog().get_by_label("Kind").select_option("UILabel")
        self.button("Add").click()
        more = self.page.get_by_label("Add a property", exact=True)
        for name in ("text", "textColor", "textAlignment", "isHidden"):
            more.select_option(name)
        expect(more.locator("option", has_text="barTintColor")).to_have_count(0)
        self.page.get_by_label("text", exact=True).fill("Good morning")
        self.page.get_by_label("textAlignment", exact=True).select_option("center")
        phone = self.page.get_by_role("img", name="Start as a phone shows it")
        expect(phone).to_be_visible()
        self.see("1 hidden.")
        self.page.get_by_label("isHidden", exact=True).uncheck()
        expect(phone.locator(".phone-words")).to_have_text("Good morning")
        expect(phone.locator(".phone-words")).to_have_css("color", "rgb(10, 20, 30)")
        self.button("Save draft").click()
        self.see("Draft saved")
        element = self.stored("configuration", "4.0.0")["controllers"][0]["objectsList"][0]
        properties = {"text": "Good morning", "textColor": "ink", "textAlignment": "center", "isHidden": False}
        self.assertEqual(element, {"objectName": "greeting", "objectType": "UILabel", "objectProperties": properties})

    def test_themes_stand_side_by_side_and_say_which_colours_are_missing(self):
        self.window.place("configuration/1.1.0~Light?tab=themes")
        for theme in ("Light", "Dark"):
            expect(self.page.get_by_role("img", name=f"BikeList, {theme} as a phone shows it")).to_be_visible()
        row = self.page.get_by_role("table", name="Colours").get_by_role("row").filter(has_text="warning")
        expect(row).to_contain_text("missing")
        self.button("New theme from this one").click()
        self.dialog().get_by_label("Name").fill("Sepia")
        self.button("Create").click()
        expect(self.page.locator("h1")).to_contain_text("1.1.0~Sepia")
        self.assertEqual(self.stored("configuration", "1.1.0~Sepia")["colors"], self.stored("configuration", "1.1.0~Light")["colors"])
        self.server.of_app("DELETE", "/config/configuration/1.1.0~Sepia", headers={"If-Match": "*"})

    def test_a_definition_is_changed_in_its_parts_with_completion_and_its_download_is_counted(self):
        definition = {
            "name": "Show", "root_controller": "Main", "models": {"People": [{"name": "Ada"}, {"name": "Grace"}]},
            "views": {"List": {"contents": [{"kind": "ListView", "items_model": "People", "row_view": "Row"}]},
                      "Row": {"contents": [{"kind": "LabelView", "text": "@.name"}]}},
            "controllers": {"Main": {"title": "People", "render": "List"}},
        }
        self.server.of_app("PUT", "/config/definition/show", definition, {"If-None-Match": "*"})
        self.server.of_app("POST", "/config/definition/show/publish")
        self.window.place("definitions/show")
        phone = self.page.get_by_role("img", name="Main as a phone shows it")
        expect(phone).to_contain_text("Grace")
        self.page.get_by_role("navigation", name="Parts").get_by_role("link", name="Row").click()
        editor = self.page.get_by_label("views/Row", exact=True)
        editor.fill('{"contents": [{"kind": "LabelView", "text": "@.name", "text_size": 20}, {"kind": "Bu')
        self.button("ButtonView").click()
        editor.press_sequentially(', "title": "Call"}]}')
        expect(self.page.get_by_role("img", name="Row as a phone shows it")).to_contain_text("Call")
        self.page.get_by_role("tab", name="Rollout").click()
        parts = self.page.get_by_role("table", name="What devices download")
        expect(parts.get_by_role("row").filter(has_text="views/Row")).to_contain_text("changed")
        expect(parts.locator("tr[data-row]")).to_have_count(1)
        self.page.get_by_label("Flag", exact=True).select_option("new-checkout")
        expect(self.page.get_by_label("All others get")).to_have_value("1")
        self.button("Save draft").click()
        self.see("Draft saved")
        stored = self.stored("definition", "show")
        self.assertEqual(stored["rollout"], {"flag": "new-checkout", "otherwise": 1})
        self.assertEqual(stored["views"]["Row"]["contents"][1], {"kind": "ButtonView", "title": "Call"})
        self.button("Open a preview").click()
        self.see("It is shown only once.")
        self.button("Revoke").click()
        self.see("No preview is open.")

    def test_texts_get_plural_forms_findings_lead_to_them_and_languages_are_turned_on(self):
        for language, text in (("en", "%lld bikes"), ("pl", "%@ rower")):
            self.server.as_server("POST", "/translation", {"version": "4.1.0", "language": language, "sourceLanguage": "en", "strings": {"bikes": text}, "published": language == "en"})
        self.window.place("languages/4.1.0")
        findings = self.page.get_by_role("group", name="Findings")
        findings.get_by_role("button").first.click()
        expect(self.page).to_have_url(re.compile("search=bikes"))
        self.page.get_by_label("bikes, pl: %@ rower").click()
        self.button("Plural forms…").click()
        expect(self.dialog().locator("label")).to_have_text(["one", "few", "many", "other"])
        for form, text in (("one", "%lld rower"), ("few", "%lld rowery"), ("many", "%lld rowerów"), ("other", "%lld roweru")):
            self.dialog().get_by_label(form, exact=True).fill(text)
        self.dialog().get_by_role("button", name="Save").click()
        expect(self.page.get_by_label("Plural forms of bikes, pl")).to_contain_text("few: %lld rowery")
        self.page.get_by_label("pl is on").click()
        expect(self.page.get_by_label("pl is on")).to_be_checked()
        # The page knows that the draft has changed, without a reload.
        self.button("Publish").click()
        self.dialog().get_by_role("button", name="Publish").click()
        self.see("Live: version 1")
        answer = self.server.call("GET", f"/api/{self.server.keys['appKey']}/translation/pl/4.1.0", headers={"X-Martlet-Secret": self.server.keys["secret"]})
        self.assertIn("rowery", str(answer))

    def test_the_rules_of_a_flag_are_edited_in_a_form_that_leaves_alone_what_it_does_not_know(self):
        document = self.stored("flags", "default")
        unknown = {"id": "old", "condition": {"country": "CH"}, "force": True, "coverage": 0.5, "hashVersion": 2}
        document["flags"]["night-mode"] = {"type": "boolean", "default": False, "rules": [unknown]}
        document["flags"]["headline"] = {"type": "string", "default": ""}
        document["conditions"] = {"staff": {"email": {"$regexi": "@example\\.com$"}}}
        self.server.of_app("PUT", "/config/flags/default", document, {"If-Match": "*"})
        self.window.place("flags")
        self.page.get_by_label("More about night-mode").click()
        self.page.get_by_role("menuitem", name="Rules…").click()
        rules = self.dialog().get_by_role("list", name="Rules").get_by_role("listitem")
        expect(rules.first).to_contain_text("The form cannot show this")
        self.button("New rule").click()
        for number, attribute, comparison, value in ((1, "country", "$in", "CH, AT"), (2, "appVersion", "$vgte", "2.4.0")):
            rules.nth(1).get_by_role("button", name="Add a condition").click()
            condition = rules.nth(1).get_by_role("group", name=f"Condition {number}")
            condition.get_by_label("Attribute").fill(attribute)
            condition.get_by_label("Comparison").select_option(comparison)
            condition.get_by_label("Value").fill(value)
        rules.nth(1).get_by_role("button", name="Add a named condition").click()
        rules.nth(1).get_by_label("Share in percent").fill("200")
        self.button("Keep in the draft").click()
        expect(rules.nth(1).get_by_label("Share in percent")).to_have_attribute("aria-invalid", "true")
        self.dialog().get_by_role("tab", name="JSON").click()
        expect(rules.nth(1).get_by_label("Share in percent")).to_have_value("200")
        rules.nth(1).get_by_label("Share in percent").fill("20")
        self.button("Move rule 2 up").click()
        self.assertEqual(self.window.violations(), [])
        self.dialog().get_by_role("tab", name="JSON").click()
        expect(self.dialog().get_by_label("Flag", exact=True)).to_have_value(re.compile(r'"\$vgte"'))
        self.button("Keep in the draft").click()

        self.page.get_by_label("More about headline").click()
        self.page.get_by_role("menuitem", name="Rules…").click()
        for name, value in (("short", "Sale"), ("long", "Sale until Sunday")):
            self.dialog().get_by_label("Name of a new variant").fill(name)
            self.page.keyboard.press("Enter")
            self.dialog().get_by_label(f"Value of {name}").fill(value)
        self.button("New rule").click()
        rules.first.get_by_label("They get").select_option("split")
        rules.first.get_by_role("group", name="Share 1").get_by_label("Share in percent").fill("30")
        self.button("Keep in the draft").click()

        # A text that is not a valid value is the only edit, and closing the dialog would lose it.
        self.page.get_by_label("More about night-mode").click()
        self.page.get_by_role("menuitem", name="Rules…").click()
        share = rules.first.get_by_label("Share in percent")
        share.fill("200")
        self.page.once("dialog", lambda question: question.dismiss())
        self.dialog().get_by_role("button", name="Close").click()
        expect(share).to_have_value("200")
        # Nor does the palette lead away from it.
        self.page.keyboard.press("Control+k")
        expect(self.page.get_by_role("combobox", name="Search and commands")).to_have_count(0)
        share.fill("20")
        self.dialog().get_by_role("button", name="Close").click()
        expect(self.dialog()).to_have_count(0)
        self.button("Save draft").click()
        self.see("Draft saved")

        stored = self.stored("flags", "default")["flags"]
        when = {"country": {"$in": ["CH", "AT"]}, "appVersion": {"$vgte": "2.4.0"}, "$condition": "staff"}
        self.assertEqual(stored["night-mode"]["rules"], [{"value": True, "when": when, "percent": 20}, unknown])
        self.assertEqual(stored["headline"], {
            "type": "string", "default": "", "variants": {"short": "Sale", "long": "Sale until Sunday"},
            "rules": [{"split": [{"variant": "short", "percent": 30}, {"variant": "long", "percent": 10}]}]})
        findings = self.server.of_app("POST", "/config/flags/default/check")["findings"]
        self.assertEqual([one for one in findings if one["severity"] == "error"], [])

    def test_conditions_and_groups_of_flags_are_named_in_forms_and_a_flag_has_an_address(self):
        self.window.place("flags?tab=groups")
        self.page.get_by_label("Name of a new group").fill("beta")
        self.page.keyboard.press("Enter")
        self.page.get_by_label("Values of beta").fill("ann, 12")
        self.page.get_by_label("Name of a new condition").fill("testers")
        self.page.keyboard.press("Enter")
        testers = self.page.get_by_role("group", name="testers")
        testers.get_by_role("button", name="Add a condition").click()
        testers.get_by_label("Attribute").fill("userId")
        testers.get_by_label("Comparison").select_option("$inGroup")
        testers.get_by_role("button", name="Add nested conditions").click()
        nested = testers.get_by_role("group", name="Conditions 2", exact=True)
        nested.get_by_label("Attribute").fill("country")
        nested.get_by_label("Value").fill("CH")
        nested.get_by_role("button", name="Add nested conditions").click()
        inner = nested.get_by_role("group", name="Conditions 2.2", exact=True)
        for number, attribute, value in ((1, "platform", "ios"), (2, "language", "de")):
            if number > 1:
                inner.get_by_role("button", name="Add a condition").click()
            condition = inner.get_by_role("group", name=f"Condition 2.2.{number}")
            condition.get_by_label("Attribute").fill(attribute)
            condition.get_by_label("Value").fill(value)
        nested.get_by_label("Of these conditions").first.select_option("none")
        self.assertEqual(self.window.violations(), [])
        self.button("Save draft").click()
        self.see("Draft saved")
        stored = self.stored("flags", "default")
        self.assertEqual(stored["savedGroups"], {"beta": ["ann", 12]})
        self.assertEqual(stored["conditions"]["testers"], {
            "userId": {"$inGroup": "beta"}, "$nor": [{"country": "CH"}, {"platform": "ios", "language": "de"}]})
        findings = self.server.of_app("POST", "/config/flags/default/check")["findings"]
        self.assertEqual([one for one in findings if one["severity"] == "error"], [])
        self.window.place("flags?flag=banner")
        expect(self.dialog().get_by_role("heading", name="banner")).to_be_visible()

    def test_variations_and_metrics_of_a_test_are_edited_in_a_form(self):
        purchase = {"name": "purchase", "event": "Bought", "prior": {"mean": 0, "standardDeviation": 0.3}}
        test = {"title": "Banner", "state": "draft", "unit": "device", "metrics": [purchase],
                "variations": [{"key": "control"}, {"key": "sale", "flags": {"banner": "Sale"}}]}
        self.server.of_app("PUT", "/config/experiment/banner", test, {"If-None-Match": "*"})
        self.window.place("experiments/banner?tab=setup")
        variations = self.page.get_by_role("list", name="Variations").get_by_role("listitem")
        expect(variations).to_have_count(2)
        self.window.settle()
        self.button("Add a variation").click()
        variations.nth(2).get_by_label("Key").fill("far")
        variations.nth(2).get_by_label("Name of a flag").fill("search-radius")
        self.page.keyboard.press("Enter")
        variations.nth(2).get_by_label("Value of search-radius").fill("10")
        self.page.get_by_label("Different shares").check()
        for index, share in enumerate(("50", "30", "10")):
            variations.nth(index).get_by_label("Share in percent").fill(share)
        self.see("The shares add up to 90 %, not to 100 %.")
        variations.nth(2).get_by_label("Share in percent").fill("20")
        expect(self.page.get_by_text("The shares add up to")).to_have_count(0)
        self.button("Add a metric").click()
        metric = self.page.get_by_role("list", name="Metrics").get_by_role("listitem").nth(1)
        metric.get_by_label("Name", exact=True).fill("spent")
        metric.get_by_label("What is measured").select_option("mean")
        metric.get_by_label("Event").fill("Bought")
        metric.get_by_label("Property that is added up").fill("price")
        metric.get_by_label("Goal").select_option("decrease")
        metric.get_by_label("Use a prior").check()
        metric.get_by_label("Expected effect, in percent").fill("5")
        self.button("Save draft").click()
        self.see("Draft saved")
        stored = self.stored("experiment", "banner")
        self.assertEqual(stored["variations"], [
            {"key": "control", "weight": 0.5}, {"key": "sale", "weight": 0.3, "flags": {"banner": "Sale"}},
            {"key": "far", "weight": 0.2, "flags": {"search-radius": 10}}])
        spent = {"name": "spent", "kind": "mean", "goal": "decrease", "event": "Bought", "property": "price",
                 "prior": {"standardDeviation": 0.3, "mean": 0.05}}
        self.assertEqual(stored["metrics"], [purchase, spent])

    def test_participants_and_guard_rails_of_a_test_are_set_in_a_form_and_a_refused_start_says_why(self):
        self.window.expect_refusals(422)
        test = {"title": "Far", "state": "draft", "unit": "device", "metrics": [], "guardRails": {"power": 0.9},
                "variations": [{"key": "control"}, {"key": "far", "flags": {"search-radius": "far"}}]}
        self.server.of_app("PUT", "/config/experiment/far", test, {"If-None-Match": "*"})
        self.window.place("experiments/far?tab=setup")
        self.button("Add a condition").click()
        condition = self.page.get_by_role("group", name="Condition 1")
        condition.get_by_label("Attribute").fill("country")
        condition.get_by_label("Comparison").select_option("$in")
        condition.get_by_label("Value").fill("CH, AT")
        expect(self.button("Start")).to_be_disabled()
        self.see("Save the draft before you start the test.")
        self.page.get_by_label("Share that takes part, in percent").fill("33.3")
        participants = self.page.get_by_role("main")
        participants.get_by_label("App version").fill("1.1.0")
        participants.get_by_label("Seed").fill("search-2026")
        self.page.get_by_label("Shares no units with other tests").check()
        self.page.get_by_label("Namespace", exact=True).fill("search")
        self.page.get_by_label("End of its part, in percent").fill("25")
        self.page.get_by_label("Units of each variation, at least").fill("500")
        for _ in range(2):
            self.button("Add a metric").click()
        effect = self.page.get_by_label("Smallest effect that matters, in percent")
        effect.nth(1).fill("five")
        self.button("Remove metric 1").click()
        self.page.get_by_role("tab", name="JSON").click()
        expect(effect).to_have_value("five")
        effect.fill("5")
        self.button("Save draft").click()
        self.see("Draft saved")
        self.assertEqual(self.stored("experiment", "far"), {
            **test, "condition": {"country": {"$in": ["CH", "AT"]}}, "coverage": 0.333, "appVersion": "1.1.0", "seed": "search-2026",
            "namespace": {"name": "search", "range": [0, 0.25]}, "guardRails": {"power": 0.9, "minimumUnits": 500},
            "metrics": [{"name": "metric-2", "minimumEffect": 0.05}]})
        self.button("Start").click()
        self.dialog().get_by_role("button", name="Start").click()
        expect(self.page.get_by_role("list", name="Findings")).to_contain_text("The value must have the flag's type")

    def test_units_of_a_running_test_are_assigned_again_in_a_form(self):
        first = self.stored("experiment", "checkout")
        self.addCleanup(self.server.of_app, "PUT", "/config/experiment/checkout", first, {"If-Match": "*"})
        self.window.place("experiments/checkout?tab=setup")
        assignment = self.page.get_by_label(re.compile("^Assignment"))
        assignment.fill("2")
        self.page.get_by_label("Oldest assignment that takes part").fill("1")
        self.page.get_by_label("Units keep their variation in a new phase").uncheck()
        self.button("Save draft").click()
        self.see("Draft saved")
        stored = self.stored("experiment", "checkout")
        self.assertEqual((stored["bucketVersion"], stored["minimumBucketVersion"], stored["sticky"]), (2, 1, False))
        assignment.fill("soon")
        self.page.once("dialog", lambda question: question.dismiss())
        self.page.get_by_role("navigation", name="Pages").get_by_role("link", name="Flags").click()
        expect(assignment).to_have_value("soon")

    def test_a_publication_is_planned_and_cancelled(self):
        self.server.of_app("PUT", "/config/configuration/4.2.0", {"mainSettings": {"later": True}}, {"If-None-Match": "*"})
        self.window.place("configuration/4.2.0?tab=versions")
        self.button("Publish").click()
        self.dialog().get_by_label("At a later time").check()
        tomorrow = datetime.datetime.now() + datetime.timedelta(days=1)
        self.dialog().get_by_label("When").fill(tomorrow.strftime("%Y-%m-%dT%H:%M"))
        self.dialog().get_by_role("button", name="Schedule").click()
        expect(self.dialog()).to_have_count(0)
        self.page.reload()
        self.see(re.compile("^Will be published:"))
        self.button("Cancel the publication").click()
        expect(self.button("Cancel the publication")).to_have_count(0)
        self.assertEqual(self.server.of_app("GET", "/config/schedules")["data"][0]["state"], "cancelled")

    def test_an_objects_change_and_its_deletion_are_taken_back(self):
        self.server.of_app("POST", "/storage/Spares", {"_id": "bell", "loud": True})
        self.window.place("storage/Spares/bell?tab=json")
        self.page.get_by_label("Object").fill('{"loud": false}')
        self.button("Save").click()
        self.until(lambda: self.server.of_app("GET", "/storage/Spares/bell")["loud"] is False)
        self.button("Undo").click()
        self.until(lambda: self.server.of_app("GET", "/storage/Spares/bell")["loud"] is True)
        expect(self.page.get_by_label("Object")).to_have_value(re.compile("true"))
        self.button("Delete").click()
        self.dialog().get_by_role("button", name="Delete").click()
        self.button("Undo").last.click()
        expect(self.page).to_have_url(re.compile("/Spares/bell$"))
        self.assertIs(self.server.of_app("GET", "/storage/Spares/bell")["loud"], True)


if __name__ == "__main__":
    unittest.main(verbosity=2)
