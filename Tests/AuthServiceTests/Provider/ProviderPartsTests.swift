import Crypto
import Foundation
import MartletAPI
import MartletCore
import MartletHTTP
import MartletMail
import Testing

@testable import AuthService

@Suite struct ProviderPartsTests {
    @Test(arguments: [
        "https://app.example/back", "https://app.example:8443/back?x=1", "http://127.0.0.1/back",
        "http://[::1]:80/back", "http://localhost:3000/back",
        "com.example.app:/back", "com.example.app://back",
    ])
    func `Redirect addresses of the allowed forms are accepted`(_ text: String) throws {
        #expect(try RedirectURI(registering: text).matches(text))
    }

    @Test(arguments: [
        "", "back", "/back", "http://app.example/back", "https://", "https:///back", "https://app.example/back#x",
        "https://u@app.example/",
        "https://u:p@app.example/", "https://app.example/*", "https://*.example/", "https://app.example/a b",
        "https://app.example/\"",
        "https://app.example/../x", "https://app.example/%2e%2E/x", "https://app.example\\x", "javascript:alert(1)",
        "data:text/html,x", "file:///etc/passwd",
        "myapp:/back", "Com.Example.app:/back", "https://bücher.example/", "https://app.example/\n",
        "http://127.0.0.1.evil.example/", "http://localhost@evil.example/",
        "https://a;b/x", "ftp://app.example/", "https://app.example/" + String(repeating: "x", count: 1_000),
    ])
    func `Redirect addresses of any other form are refused`(_ text: String) {
        #expect(throws: ServiceError.self) { try RedirectURI(registering: text) }
    }

    @Test(arguments: [
        ("http://127.0.0.1/back", "http://127.0.0.1:49152/back", true),
        ("http://127.0.0.1:1/back?a=b", "http://127.0.0.1/back?a=b", true),
        ("http://[::1]/back", "http://[::1]:49152/back", true),
        ("http://127.0.0.1/back", "http://127.0.0.1:0/back", false),
        ("http://127.0.0.1/back", "http://127.0.0.1:65536/back", false),
        ("http://127.0.0.1/back", "http://127.0.0.1:/back", false),
        ("http://127.0.0.1/back", "http://127.0.0.1:80@evil.example/back", false),
        ("http://127.0.0.1/back", "http://127.0.0.1.evil.example/back", false),
        ("http://127.0.0.1/back", "http://127.0.0.1:80.evil.example/back", false),
        ("http://127.0.0.1/back", "http://127.0.0.1:80/back/", false),
        ("http://127.0.0.1/back", "http://localhost:80/back", false),
        ("http://localhost:3000/back", "http://localhost:3001/back", false),
        ("https://app.example/back", "https://app.example/back/", false),
        ("https://app.example/back", "https://app.example/back?x=1", false),
        ("https://app.example/back", "https://app.example/back#x", false),
        ("https://app.example/back", "https://app.example/Back", false),
        ("https://app.example/back", "HTTPS://app.example/back", false),
        ("https://app.example/back", "https://app.example:443/back", false),
        ("https://app.example/back", "https://app.example/x/../back", false),
        ("https://app.example/back", "https://app.example/%62ack", false),
        ("https://app.example/back", "https://app.example.evil.example/back", false),
        ("https://app.example/back", "https://app.example@evil.example/back", false),
        ("https://app.example/back", "https://app.example/back\u{0}", false),
        // KELVIN SIGN and GREEK QUESTION MARK: canonically equal to K and ;, which is enough for `==` of two strings of
        // Swift.
        ("https://app.example/K", "https://app.example/\u{212A}", false),
        ("https://app.example/a;b", "https://app.example/a\u{37E}b", false),
    ])
    func `Addresses match byte for byte, except for the port of the local machine`(
        _ own: String, _ other: String, _ matches: Bool
    ) throws {
        #expect(try RedirectURI(registering: own).matches(other) == matches)
    }

    @Test func `Pages escape their values, also quotes and brackets followed by a combining character`() {
        let evil = "<script>\"'&</script>\"\u{301}<\u{338}"
        let page: HTML = "<p title=\"\(evil)\">\(HTML(escaping: "a<b"))\(nil as HTML?)</p>"
        #expect(
            page.text == "<p title=\"&lt;script&gt;&quot;&#39;&amp;&lt;/script&gt;&quot;\u{301}&lt;\u{338}\">a&lt;b</p>"
        )
    }

    @Test func `Form fields are read as browsers write them`() throws {
        let fields = try FormFields("a=1&b=x+y%20z%2B&c=&d&%C3%A4=%E2%82%AC")
        #expect(
            fields["a"] == "1" && fields["b"] == "x y z+" && fields["c"] == nil && fields["d"] == nil
                && fields["ä"] == "€")
        #expect(try FormFields(fields.encoded).encoded == fields.encoded)
        #expect(fields.setting("a", "2")["a"] == "2")
        for bad in [
            "a=1&a=2", "a=%", "a=%2", "a=%zz", "a=%ff", "a=%00", "a=%0a", "a=" + String(repeating: "x", count: 20_000),
            (0...100).map { "a\($0)" }.joined(separator: "&"),
        ] {
            #expect(throws: OAuthError.self, "\(bad.prefix(20))") { try FormFields(bad) }
        }
    }

    /// RFC 7636 Appendix B; OpenID Connect Core 1.0 Appendix A.3.
    @Test func `PKCE challenges and token hashes agree with published examples`() {
        #expect(CodeChallenge.s256(TestProvider.verifier) == TestProvider.challenge)
        #expect(IDToken.hash("jHkWEdUXMU1BwAsC4vtUsZwnNvTIxEl0z9K3vx5KF0Y") == "77QmUPtjPfzWtF2AnpK9RQ")
    }

    @Test func `Tokens of one kind are not accepted as another, and no bit of them can change`() throws {
        let tokens = ProviderTokens(key: SymmetricKey(size: .bits256))
        let content = ProviderTokens.Content(session: UUID(), value: 7)
        let text = tokens.token(.access, content)
        #expect(tokens.content(of: text, .access) == content)
        #expect(tokens.content(of: text, .refresh) == nil && tokens.content(of: text, .browser) == nil)
        #expect(tokens.content(of: "mpr_" + text.dropFirst(4), .refresh) == nil)
        #expect(ProviderTokens(key: SymmetricKey(size: .bits256)).content(of: text, .access) == nil)
        for index in text.indices.dropFirst(4) {
            var changed = text
            changed.replaceSubrange(index...index, with: text[index] == "A" ? "B" : "A")
            // The last character has unused bits.
            guard index < text.index(before: text.endIndex) else { continue }
            #expect(tokens.content(of: changed, .access) == nil)
        }
        #expect(tokens.content(of: "", .access) == nil && tokens.content(of: "mpa_", .access) == nil)
    }

    @Test func `An issuer's address contains the app's id, and live and test have different ones`() {
        #expect(Issuer.url(publicURL: "https://x.example/", "shop", .live) == "https://x.example/oidc/shop")
        let test = Issuer(
            publicURL: "https://x.example/y", space: AppSpace(appID: "shop", environment: .test), appName: "")
        #expect(test.url == "https://x.example/y/oidc/shop-test" && test.path == "/y/oidc/shop-test" && test.isSecure)
    }
}
