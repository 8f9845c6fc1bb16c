import Foundation
import MartletCore
import MartletFiles
import Testing

@Suite struct LinkSignerTests {
    let signer = LinkSigner(secret: Secret("an-internal-secret-of-the-tests-0123456789"))
    let link = FileLink(
        environment: "live", space: "app_a", path: "a/b.jpg", fileID: "1", thumbnail: nil, expires: 2_000_000_000)
    let now = Date(timeIntervalSince1970: 1_999_999_999)

    @Test func `a link is valid until it expires`() {
        let token = signer.token(for: link)
        #expect(token.hasPrefix("live.2000000000."))
        let claims = LinkSigner.claims(token)
        #expect(claims?.environment == "live" && claims?.expires == 2_000_000_000)
        #expect(signer.isValid(token, for: link, at: now))
        #expect(!signer.isValid(token, for: link, at: Date(timeIntervalSince1970: 2_000_000_000)))
    }

    @Test func `no part of a link can be replaced`() {
        let token = signer.token(for: link)
        var others: [FileLink] = []
        for change: (inout FileLink) -> Void in [
            { $0.environment = "test" }, { $0.space = "app_b" }, { $0.path = "a/c.jpg" }, { $0.fileID = "2" },
            { $0.thumbnail = "small" }, { $0.expires += 1 },
            { ($0.space, $0.path) = ("app_aa", "/b.jpg") }, { ($0.fileID, $0.thumbnail) = ("", "1") },
        ] {
            var other = link
            change(&other)
            others.append(other)
        }
        for other in others { #expect(!signer.isValid(token, for: other, at: now), "\(other)") }
        #expect(!LinkSigner(secret: Secret("another-internal-secret-0123456789-01")).isValid(token, for: link, at: now))
    }

    @Test func `no byte of a token can be changed`() {
        let token = signer.token(for: link)
        for index in token.indices {
            for replacement in ["0", "A", ".", "-", ""] where replacement != String(token[index]) {
                let forged = token.replacingCharacters(in: index...index, with: replacement)
                #expect(!signer.isValid(forged, for: link, at: now), "\(forged)")
            }
        }
        for forged in [
            "", ".", "live.2000000000", "live.2000000000.", "." + token, String(token.dropFirst(5)), "live." + token,
            token + "A", token + "=", "+" + token, "0" + token,
        ] {
            #expect(!signer.isValid(forged, for: link, at: now), "\(forged)")
        }
    }
}
