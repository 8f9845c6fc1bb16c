import Crypto
import Foundation
import MartletAPI
import Testing

@testable import MartletCore

@Suite struct PrincipalSignerTests {
    private static let now = Date(timeIntervalSince1970: 1_800_000_000)
    private static let principal = Principal(
        kind: .client, appID: "shop", appNumber: 7, environment: .test,
        credentialID: "0190163d-8694-739b-aea5-966c26f8ad91")

    private let signer = PrincipalSigner(internalSecret: Secret("the-internal-secret-of-these-tests-1"))

    @Test(arguments: [
        principal, .service("gateway"),
        Principal(kind: .master, appID: "ü\"", appNumber: -1, environment: .live, credentialID: ""),
    ])
    func `a principal survives a round trip`(_ principal: Principal) throws {
        let header = try signer.header(for: principal, at: Self.now)
        #expect(header.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7f })
        let read = try #require(signer.principal(from: header, at: Self.now))
        #expect(read.principal == principal)
        #expect(read.expires == Self.now + 90)
    }

    @Test(arguments: [(0.0, true), (90, true), (-90, true), (91, false), (-91, false), (1e9, false)])
    func `a header is valid for 90 seconds on either side of its time`(_ offset: TimeInterval, _ isGood: Bool) throws {
        let header = try signer.header(for: Self.principal, at: Self.now)
        #expect((signer.principal(from: header, at: Self.now + offset) != nil) == isGood)
    }

    @Test func `a header signed with another secret is refused`() throws {
        let other = PrincipalSigner(internalSecret: Secret("the-internal-secret-of-these-tests-2"))
        let header = try other.header(for: Self.principal, at: Self.now)
        #expect(signer.principal(from: header, at: Self.now) == nil)
    }

    @Test func `a changed character in payload or MAC is detected`() throws {
        let header = Array(try signer.header(for: Self.principal, at: Self.now).utf8)
        // The last of 43 characters has two unused bits.
        for position in header.indices.dropLast() {
            var changed = header
            changed[position] = changed[position] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
            #expect(
                signer.principal(from: String(decoding: changed, as: UTF8.self), at: Self.now) == nil,
                "position \(position)")
        }
    }

    @Test func `a payload with another's MAC, or none, is refused`() throws {
        let own = try signer.header(for: Self.principal, at: Self.now).split(separator: ".")
        let other = try signer.header(for: .service("auth"), at: Self.now).split(separator: ".")
        let payload = Base64URL.encode(#"{"principal":{},"issued":1800000000}"#.utf8)
        let forged = [
            "", ".", "..", "\(own[0])", "\(own[0]).", ".\(own[1])", "\(own[0]).\(other[1])", "\(other[0]).\(own[1])",
            "\(own[0]).\(own[1]).\(own[1])",
            "\(own[0]).\(own[1])=", " \(own[0]).\(own[1])", "\(own[0]).\(own[1].dropLast())", "\(payload).\(own[1])",
            "\(own[1]).\(own[0])",
        ]
        for header in forged { #expect(signer.principal(from: header, at: Self.now) == nil, "\(header)") }
    }

    @Test(arguments: ["not json", "{}", #"{"principal":{},"issued":1800000000}"#, #"{"issued":1800000000}"#, ""])
    func `a valid MAC over something that is not a principal is refused`(_ text: String) {
        let payload = Base64URL.encode(text.utf8)
        let key = SymmetricKey(data: Data("the-internal-secret-of-these-tests-1".utf8))
        let mac = HMAC<SHA256>.authenticationCode(for: Data(payload.utf8), using: key)
        #expect(signer.principal(from: payload + "." + Base64URL.encode(mac), at: Self.now) == nil)
    }
}
