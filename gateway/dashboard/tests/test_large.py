"""Much of one thing: a thousand tickets and a hundred thousand records stay usable, and few of them are drawn."""

import json
import re
import unittest
import urllib.parse
from concurrent.futures import ThreadPoolExecutor

from playwright.sync_api import expect

from cases import BrowserTests

TICKETS = 1_000
RECORDS = 100_000
FAKE_RECORDS = 1_000_000
# Of the whole page. A row has some ten.
MOST_NODES = 4_000

# Scrolls until the list says how long it is.
SCROLL_TO_THE_END = """selector => new Promise((resolve, reject) => {
  const end = Date.now() + 300_000;
  const step = () => {
    const scroller = document.querySelector(selector);
    scroller.scrollTop = scroller.scrollHeight;
    if (document.querySelector("main table").getAttribute("aria-rowcount") !== "-1") {
      scroller.scrollTop = scroller.scrollHeight;
      resolve();
    } else if (Date.now() > end) reject(new Error("The list does not end."));
    else setTimeout(step, 30);
  };
  step();
})"""


# When the overview's heading stood on the page, and when the largest part of the page was drawn, in milliseconds.
WATCH_THE_FIRST_PAGE = """
  const shown = { heading: 0, largest: 0 };
  window.firstPage = shown;
  new PerformanceObserver(list => list.getEntries().forEach(entry => { shown.largest = entry.startTime; }))
    .observe({ type: "largest-contentful-paint", buffered: true });
  new MutationObserver((_, observer) => {
    if (!document.querySelector("main h1")) return;
    observer.disconnect();
    requestAnimationFrame(() => { shown.heading = performance.now(); });
  }).observe(document, { childList: true, subtree: true });
"""


class LargeTests(BrowserTests):
    """In an app of its own, so that no other test meets it."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.app = cls.server.admin("POST", "/apps", {"name": "Large"})["app"]["id"]

    def setUp(self):
        super().setUp()
        self.window.sign_in()

    def place(self, page):
        self.window.open(f"apps/{self.app}/live/{page}")

    def nodes(self):
        return self.page.evaluate("document.querySelectorAll('*').length")

    def rows(self):
        return self.page.locator("tr[data-row]")

    def test_a_thousand_tickets_are_moved_found_and_listed(self):
        def make(number):
            status = "todo" if number < TICKETS - 150 else ["inProgress", "onHold", "complete"][number % 3]
            body = {"title": f"Task {number:04}", "status": status, "priority": "urgent" if number == 500 else "low"}
            self.server.admin("POST", f"/apps/{self.app}/tickets", body)

        with ThreadPoolExecutor(8) as pool:
            list(pool.map(make, range(TICKETS)))
        self.place("tickets")
        todo = self.page.get_by_role("region", name="To do")
        cards = todo.get_by_role("listitem")
        expect(todo.get_by_text("850", exact=True)).to_be_visible()
        expect(cards).to_have_count(50)
        todo.get_by_role("button", name="Show more").click()
        expect(cards).to_have_count(100)
        self.assertLess(self.nodes(), MOST_NODES)
        first = cards.first.get_attribute("id")
        started = self.page.get_by_role("region", name="In progress")
        cards.first.drag_to(started)
        expect(started.locator(f"#{first}")).to_be_visible()
        self.button("Undo").click()
        expect(todo.locator(f"#{first}")).to_be_visible()
        self.page.get_by_label("Find tickets").fill("Task 0500")
        self.page.keyboard.press("Enter")
        expect(cards).to_have_count(1)
        self.place("tickets?view=list")
        expect(self.rows().first).to_be_visible()
        self.page.evaluate(SCROLL_TO_THE_END, "#main")
        expect(self.page.get_by_role("table", name="Tickets")).to_have_attribute("aria-rowcount", str(TICKETS + 1))
        self.assertLess(self.nodes(), MOST_NODES)
        # The list is read again after a change, and its end stays where it was.
        expect(self.rows().last).to_have_attribute("aria-rowindex", str(TICKETS + 1))
        last = self.rows().last.get_attribute("data-row")
        self.rows().last.get_by_label("Select row").check()
        self.button("Change…").click()
        self.dialog().get_by_label("Status").select_option("complete")
        self.dialog().get_by_role("button", name="Change", exact=True).click()
        expect(self.page.locator(f"tr[data-row='{last}']")).to_have_count(0)
        expect(self.rows().last).to_have_attribute("aria-rowindex", str(TICKETS + 1))
        self.page.get_by_label("Order").select_option("-priority")
        expect(self.rows().first).to_contain_text("Task 0500")

    def test_a_hundred_thousand_records_are_scrolled_sorted_and_filtered(self):
        lines = (json.dumps({"_id": f"r-{number:06}", "serial": number, "even": number % 2 == 0}) for number in range(RECORDS))
        job = self.server.admin("POST", f"/apps/{self.app}/imports/Many?format=jsonl", "\n".join(lines).encode(),
                                {"Content-Type": "application/octet-stream"})
        state = lambda: self.server.admin("GET", f"/apps/{self.app}/jobs/{job['id']}")["state"]
        self.until(lambda: state() not in ("waiting", "running"))
        self.assertEqual(state(), "done")
        self.place("storage/Many")
        expect(self.rows().first).to_be_visible()
        self.page.evaluate(SCROLL_TO_THE_END, ".table.tall")
        table = self.page.get_by_role("table", name="Records of Many")
        expect(table).to_have_attribute("aria-rowcount", str(RECORDS + 1))
        expect(self.rows().last).to_have_attribute("aria-rowindex", str(RECORDS + 1))
        self.assertLess(self.nodes(), MOST_NODES)
        order = self.page.get_by_label("Order by serial")
        order.click()
        expect(self.rows().first).to_contain_text("000000")
        order.click()
        expect(self.rows().first).to_contain_text("099999")
        self.button("Filter").click()
        self.page.get_by_label("Field").select_option("serial")
        self.page.get_by_label("Value").fill("50000")
        self.button("Add").click()
        expect(self.rows()).to_have_count(1)
        expect(self.rows().first).to_contain_text("050000")
        self.page.reload()
        expect(self.rows()).to_have_count(1)
        self.page.get_by_label("Remove this condition").click()
        expect(self.rows().first).to_contain_text("099999")

    def test_the_last_of_a_million_rows_is_reached_and_read_out_as_such(self):
        def answer(route):
            query = urllib.parse.parse_qs(urllib.parse.urlparse(route.request.url).query)
            start = int(query.get("cursor", ["0"])[0])
            end = min(start + FAKE_RECORDS // 10, FAKE_RECORDS)
            records = ",".join('{"_id":"%07d"}' % number for number in range(start, end))
            cursor = f'"{end}"' if end < FAKE_RECORDS else "null"
            route.fulfill(body=f'{{"data":[{records}],"cursor":{cursor}}}', content_type="application/json")

        self.page.route(re.compile("/storage/query/Bikes"), answer)
        self.window.place("storage/Bikes")
        expect(self.rows().first).to_be_visible()
        self.page.evaluate(SCROLL_TO_THE_END, ".table.tall")
        last = self.page.locator(f"tr[aria-rowindex='{FAKE_RECORDS + 1}']")
        expect(last).to_be_in_viewport()
        expect(last).to_have_attribute("data-row", f"{FAKE_RECORDS - 1:07}")
        last.focus()
        focused = self.page.locator("tr:focus")
        for step in range(1, 26):
            self.page.keyboard.press("ArrowUp")
            expect(focused).to_have_attribute("aria-rowindex", str(FAKE_RECORDS + 1 - step))
            expect(focused).to_be_in_viewport()
        first = int(self.rows().first.get_attribute("data-row"))
        self.page.keyboard.press("PageUp")
        self.until(lambda: 0 < first - int(self.rows().first.get_attribute("data-row")) < 30)
        for _ in range(3):
            self.page.keyboard.press("PageUp")
            expect(focused).to_be_in_viewport()
        self.page.locator(".table.tall").evaluate("table => table.scrollTo(0, table.scrollHeight / 2)")
        self.until(lambda: abs(int(self.rows().first.get_attribute("data-row")) - FAKE_RECORDS // 2) < 200)
        self.assertLess(self.nodes(), MOST_NODES)

    def test_the_time_to_the_first_page_is_printed(self):
        """For docs/PERFORMANCE.md. Each window has an empty cache. No limit, because machines differ."""
        times = []
        for _ in range(5):
            window = self.open_window()
            window.context.add_init_script(WATCH_THE_FIRST_PAGE)
            window.sign_in()
            window.settle()
            times.append(window.page.evaluate("firstPage"))
        for name, words in (("heading", "the overview's heading"), ("largest", "the largest part of the page")):
            found = sorted(one[name] for one in times)
            print(f"\nFirst page, empty cache: {words} after {found[2]:.0f} ms ({found[0]:.0f} to {found[-1]:.0f})", end="", flush=True)
            self.assertGreater(found[0], 0)

    def test_a_page_of_a_list_that_cannot_be_read_is_told_and_asked_for_again(self):
        self.window.expect_refusals(503)
        query = re.compile("/storage/query/Bikes")
        self.window.place("storage/Bikes")
        expect(self.rows().first).to_be_visible()
        problem = {"status": 503, "code": "unavailable", "title": "Unavailable", "detail": "The service does not answer."}
        self.page.route(query, lambda route: route.fulfill(status=503, json=problem, content_type="application/problem+json"))
        scroller = self.page.locator(".table.tall")
        scroller.evaluate("table => table.scrollTo(0, table.scrollHeight)")
        self.see("A part of the server is not available")
        self.page.unroute(query)

        def is_complete():
            scroller.evaluate("table => { table.scrollTo(0, 0); table.scrollTo(0, table.scrollHeight); }")
            return self.page.get_by_role("table", name="Records of Bikes").get_attribute("aria-rowcount") != "-1"
        self.until(is_complete)


if __name__ == "__main__":
    unittest.main(verbosity=2)
