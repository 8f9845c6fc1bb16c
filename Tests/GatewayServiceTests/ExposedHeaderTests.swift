import Foundation
import MartletAPI
import MartletTesting
import Testing

@testable import GatewayService

/// Every header that a service sends can be read by pages of allowed origins, or is listed here as not needed by them.
@Suite struct ExposedHeaderTests {
    /// Headers that clients send, not services.
    private static let requests: Set = [
        "dnt", "sec-gpc", "idempotency-key", "installation-secret", "opt-out-secret", "last-event-id", "x-device-id",
        "receipt-token", "martlet-dashboard", "x-http-method-override",
    ]
    /// Headers between internal services. The gateway removes them, except `version`: only `health/ready` sends it,
    /// which has no route.
    private static let own = [
        HeaderName.principal, HeaderName.address, HeaderName.relay, HeaderName.generation, HeaderName.next,
        HeaderName.waited,
        HeaderName.secret, HeaderName.masterKey,
        HeaderName.user, HeaderName.environment, HeaderName.version,
    ]
    /// Headers that a browser handles itself, lets every page read, or that pages have no use for (`date`).
    private static let forBrowsers: Set = [
        "referrer-policy", "x-frame-options", "cross-origin-resource-policy", "content-type", "content-length",
        "content-language", "content-encoding", "date",
        "cache-control", "expires", "last-modified", "vary", "set-cookie", "content-security-policy",
        "x-content-type-options",
    ]

    private static let exposed = Set(Preflight.exposedHeaders.split(separator: ", ").map(String.init))

    @Test func `pages may read every header that the services send`() throws {
        let sent = try Self.named()
        #expect(sent.count > 25)
        let known = Self.exposed.union(Self.requests).union(Self.own).union(Self.forBrowsers)
        #expect(sent.subtracting(known).sorted() == [], "exposed in Preflight, or named in this test")
    }

    @Test(arguments: [
        "upload-offset", "upload-length", "upload-expires", "tus-resumable", "tus-version", "tus-extension",
        "tus-max-size", "content-range",
        "accept-ranges", "content-disposition", "experiments", "config-version", "translation-version", "location",
        "etag", "retry-after", "link",
    ]) func `every header that browser clients read is exposed`(_ name: String) {
        #expect(Self.exposed.contains(name))
    }

    @Test func `the list of exposed headers has lower-case names, each once`() {
        let names = Preflight.exposedHeaders.split(separator: ", ")
        #expect(Set(names).count == names.count)
        #expect(names.allSatisfy { $0.wholeMatch(of: /[a-z]+(-[a-z]+)*/) != nil })
    }

    /// Headers that the services' sources name as text, and standard ones set by their name in HTTPTypes.
    private static func named() throws -> Set<String> {
        let folders = ["Sources/Services", "Sources/Shared/MartletHTTP"]
        func found(_ pattern: String, _ folders: [String] = folders) throws -> [String] {
            try SourceSearch().matches(of: pattern, in: folders).filter { !$0.file.contains("/GatewayService/") }.map(
                \.text)
        }
        return Set(
            try found(#"HTTPField\.Name\("\K[A-Za-z-]+(?="\))"#).map { $0.lowercased() }
                + found(#"eaders\[\.\K\w+(?=\] = )"#).map(hyphenated)
                + found(#"headers: \[\.\K\w+(?=:)"#).map(hyphenated)
                + found(#"= "\K[a-z-]+(?=")"#, ["Sources/Contract/MartletAPI/HeaderName.swift"]))
    }

    /// `contentRange` is `content-range`.
    private static func hyphenated(_ name: some StringProtocol) -> String {
        if name == "eTag" { return "etag" }
        if name == "wwwAuthenticate" { return "www-authenticate" }
        return name.reduce(into: "") { text, letter in
            text += letter.isUppercase ? "-" + letter.lowercased() : String(letter)
        }
    }
}
