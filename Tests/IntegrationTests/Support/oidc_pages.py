# What a person does in a browser on the pages of the provider, done with plain HTTP.
import html
import re
from urllib.parse import urljoin


def check(condition, what):
    if not condition:
        raise AssertionError(what)


def form(page, fields):
    action = html.unescape(re.search(r'action="([^"]+)"', page.text).group(1))
    token = re.search(r'name="form_token" value="([^"]+)"', page.text).group(1)
    return urljoin(page.url, action), {"form_token": token, **fields}


def walk(browser, address, name="ada"):
    """Follows the provider's pages until they lead back to the client."""
    answer = browser.get(address, allow_redirects=False, timeout=30)
    if 'name="password"' in answer.text:
        check("frame-ancestors 'none'" in answer.headers["content-security-policy"], "frames")
        url, fields = form(answer, {"name": name, "password": "correct horse"})
        answer = browser.post(url, data=fields, allow_redirects=False, timeout=30)
    if 'name="decision"' in answer.text:
        url, fields = form(answer, {"decision": "allow"})
        answer = browser.post(url, data=fields, allow_redirects=False, timeout=30)
    check(answer.status_code == 303, "%d %s" % (answer.status_code, answer.text))
    return answer.headers["location"]
