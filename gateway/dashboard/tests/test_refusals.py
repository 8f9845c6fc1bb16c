"""What goes wrong is said in a sentence: missing rights, dead services, ended sessions, two people at one thing."""

import os
import pathlib
import re
import signal
import threading
import unittest

from playwright.sync_api import expect

from cases import BrowserTests
from screenshots import PAGES, SERVER_PAGES

# The first words on buttons that change something.
CHANGES = re.compile(
    r"^(New|Add|Save|Publish|Delete|Upload|Resolve|Send|Start|Stop|Decide|Invite|Edit|Disable|Enable|Erase|Rotate|Create|Store|Make|"
    r"Ignore|Reopen|Merge|Split|Move|Comment|Remove|Set up|Withdraw|Replace|Go back|Allow again|Archive|Pause|Cancel|Retry|Do it|Discard|Import)\b")
# Pages that dana, who has rights for crashes and tickets only, may not see.
CLOSED = ["storage", "storage/Bikes/bike-001", "files", "users", "moderation", "hooks", "jobs", "configuration", "flags", "experiments", "languages", "definitions",
          "analytics", "push", "push?tab=rules", "mail", "settings", "sign-in", "sign-in?tab=providers", "sign-in?tab=invitations", "sign-in?tab=mail",
          "sign-in?tab=sender", "sign-in?tab=clients", "sign-in?tab=passkeys", "analytics?question=saved"]


class RefusalTests(BrowserTests):
    def test_who_may_only_look_sees_no_button_that_changes_anything(self):
        # The gateway reports the use of keys in batches; until then, the first steps lead to the keys.
        for _ in range(120):
            if any(key["lastUsed"] for key in self.server.of_app("GET", "/keys")["data"]):
                break
            self.page.wait_for_timeout(1000)
        self.window.sign_in("vera", "vera may only look")
        dead = []
        for name, path in PAGES + SERVER_PAGES:
            if name in ("compose", "account"):
                continue
            if (name, path) in PAGES:
                self.window.place(path)
            else:
                self.window.open(path)
            self.window.settle()
            expect(self.page.locator(".refused")).to_have_count(0)
            buttons = self.page.locator("main button:visible, main summary:visible").evaluate_all("all => all.map(one => one.innerText || one.ariaLabel)")
            # "Import" is also the name of a job in the list, which leads to the job.
            dead += [f"{path}: {text}" for text in buttons if text and CHANGES.match(text.strip()) and (path, text) != ("jobs", "Import")]
        self.assertEqual(dead, [])
        self.window.place("push/new")
        self.see("Ask somebody who may send push messages.")

    def test_each_page_without_the_right_says_so_in_a_sentence(self):
        self.window.expect_refusals(403)
        self.window.sign_in("dana", "a long password for dana")
        for path in CLOSED:
            self.window.place(path)
            self.see("You do not have the right to see or do this")
        for path in ("staff", "audit", "status"):
            self.window.open(path)
            self.see("You do not have the right to see or do this")
        self.page.keyboard.press("Control+k")
        self.page.get_by_role("combobox", name="Search and commands").fill("Bikes")
        self.see("Nothing has this name.")

    def test_a_right_that_is_lost_in_the_meantime_is_refused_in_a_sentence(self):
        self.window.expect_refusals(403)
        self.server.admin("POST", "/staff", {"userName": "tom", "password": "a password for tom", "mustReset": False,
                                             "rights": {self.server.app: {"crashes": ["read", "update"], "tickets": ["read", "update"]}}})
        tom = next(member for member in self.server.admin("GET", "/staff")["data"] if member["userName"] == "tom")
        self.window.sign_in("tom", "a password for tom")
        self.window.place("tickets/8")
        expect(self.page.get_by_label("Priority")).to_be_enabled()
        self.server.admin("PATCH", f"/staff/{tom['id']}", {"rights": {self.server.app: {"tickets": ["read"]}}})
        self.wait_for_a_refusal("/crashes/settings", 403)
        self.page.get_by_label("Priority").select_option("urgent")
        self.see("You do not have the right to see or do this")
        self.page.reload()
        expect(self.page.get_by_label("Priority")).to_have_value("low")
        expect(self.page.get_by_label("Priority")).to_be_disabled()

    def test_an_ended_session_loses_nothing_that_was_written(self):
        self.window.expect_refusals(401)
        self.window.sign_in("dana", "a long password for dana")
        self.window.place("tickets/4")
        self.page.get_by_label("Comment").fill("Half a thought")
        dana = next(member for member in self.server.admin("GET", "/staff")["data"] if member["userName"] == "dana")
        self.server.admin("DELETE", f"/staff/{dana['id']}/sessions")
        self.wait_for_the_end_of_the_session()
        # The page may have loaded something meanwhile; then the gate already covers the button.
        self.button("Comment").dispatch_event("click")
        gate = self.page.get_by_role("dialog", name="Your session has ended")
        gate.get_by_label("Password").fill("a long password for dana")
        gate.get_by_role("button", name="Sign in").click()
        expect(gate).to_have_count(0)
        expect(self.page.get_by_label("Comment")).to_have_value("Half a thought")
        self.button("Comment").click()
        self.see("Half a thought")
        expect(self.page.get_by_label("Comment")).to_have_value("")

    def test_a_dead_service_is_named_and_the_page_works_again_when_it_is_back(self):
        self.window.expect_refusals(502, 503)
        self.window.sign_in()
        with Dead("analytics"):
            self.window.place("crashes")
            self.see(re.compile("A part of the server is not available|Something failed on the server"))
            self.page.get_by_role("navigation", name="Pages").get_by_role("link", name="Storage", exact=True).click()
            self.see("bike-2")
            self.page.go_back()
        crash = self.page.get_by_text("EXC_BAD_ACCESS").first
        # In one step, because the button may be gone before a click reaches it.
        again = "[...document.querySelectorAll('button')].find(one => one.innerText.trim() === 'Try again')?.click()"

        def is_back():
            self.page.evaluate(again)
            self.page.wait_for_timeout(1000)
            return crash.is_visible()
        self.until(is_back)

        def answers():
            try:
                return bool(self.server.of_app("GET", "/crashes/settings"))
            except RuntimeError:
                return False
        # Each event loop of the gateway has its own breaker, so one may still refuse the pages of the next test. The
        # calls use new connections, which reach all of them.
        self.until(lambda: all(answers() for _ in range(50)))

    def test_without_an_answer_the_page_says_so_and_tries_again(self):
        self.window.expected.append("ERR_INTERNET_DISCONNECTED")
        self.window.sign_in()
        self.window.place("crashes")
        self.see("EXC_BAD_ACCESS")
        self.window.context.set_offline(True)
        self.page.get_by_role("navigation", name="Pages").get_by_role("link", name="Users", exact=True).click()
        self.see("The server cannot be reached")
        self.window.context.set_offline(False)
        self.button("Try again").first.click()
        self.see("grace")

    def test_back_and_reload_lead_to_the_same_page_everywhere(self):
        self.window.sign_in()
        self.window.place("overview")
        links = self.page.get_by_role("navigation", name="Pages").get_by_role("link")
        expect(links).to_have_count(23)
        seen = []
        for index in range(links.count()):
            links.nth(index).click()
            self.window.settle()
            seen.append((self.page.url, self.page.locator("#main h1").first.inner_text()))
        for url, title in reversed(seen[:-1]):
            self.page.go_back()
            expect(self.page).to_have_url(url)
            expect(self.page.locator("#main h1").first).to_have_text(title)
        for url, title in seen[1:]:
            self.page.go_forward()
            self.page.reload()
            expect(self.page).to_have_url(url)
            expect(self.page.locator("#main h1").first).to_have_text(title)

    def test_two_people_move_one_ticket_at_once_and_see_the_same(self):
        other = self.open_window()
        for window in (self.window, other):
            window.sign_in()
            window.place("tickets")
            expect(window.page.locator("#ticket-5")).to_be_visible()
        self.page.locator("#ticket-5").focus()
        other.page.locator("#ticket-5").focus()
        self.page.keyboard.press("Alt+ArrowLeft")
        other.page.keyboard.press("Alt+ArrowRight")
        self.page.wait_for_timeout(2000)

        def see_the_same():
            status = self.server.of_app("GET", "/tickets/5")["status"]
            title = {"todo": "To do", "inProgress": "In progress", "onHold": "On hold", "complete": "Complete"}[status]
            lanes = [window.page.get_by_role("region", name=title) for window in (self.window, other)]
            return all(lane.locator("#ticket-5").is_visible() for lane in lanes)
        self.until(see_the_same)

    def test_somebody_elses_change_is_not_overwritten(self):
        self.window.expect_refusals(412)
        self.window.sign_in()
        self.window.place("tickets/7")
        self.button("Edit").click()
        self.server.of_app("PATCH", "/tickets/7", {"title": "Share a sighting with friends"}, {"If-Match": "*"})
        self.page.get_by_label("Title").fill("Share sightings")
        self.button("Save").click()
        self.see("Somebody else changed this in the meantime")
        self.assertEqual(self.server.of_app("GET", "/tickets/7")["title"], "Share a sighting with friends")


state = os.environ["MARTLET_TEST_STATE"]


class Dead:
    """Ends a service of the server under test as often as its supervisor starts it."""

    def __init__(self, name):
        self.name = name
        self.over = threading.Event()
        self.thread = threading.Thread(target=self.keep_dead)

    def __enter__(self):
        self.end()
        self.thread.start()

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()

    def keep_dead(self):
        while not self.over.wait(0.05):
            self.end()

    def end(self):
        for supervisor in processes("martlet", lambda process: state in process.joinpath("cmdline").read_text()):
            for service in processes(self.name, lambda process: parent_of(process) == supervisor):
                try:
                    os.kill(service, signal.SIGKILL)
                except ProcessLookupError:
                    pass


def processes(name, fits):
    found = []
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if process.joinpath("comm").read_text().strip() == name and fits(process):
                found.append(int(process.name))
        except OSError:
            pass
    return found


def parent_of(process):
    return int(re.search(r"^PPid:\s*(\d+)", process.joinpath("status").read_text(), re.MULTILINE)[1])


if __name__ == "__main__":
    unittest.main(verbosity=2)
