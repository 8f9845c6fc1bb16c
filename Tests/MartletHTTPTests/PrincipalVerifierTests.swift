import Foundation
import MartletCore
import MartletTesting
import Testing

@testable import MartletHTTP

@Suite struct PrincipalVerifierTests {
    private static let now = Date(timeIntervalSince1970: 1_800_000_000)
    private let verifier = PrincipalVerifier(signer: ServiceClient.signer)

    @Test func `a valid header is cached no longer than it is valid`() throws {
        let header = try ServiceClient.signer.header(for: .service("gateway"), at: Self.now)
        #expect(verifier.principal(from: header, at: Self.now) == .service("gateway"))
        #expect(verifier.principal(from: header, at: Self.now + 89) == .service("gateway"))
        #expect(verifier.principal(from: header, at: Self.now + 91) == nil)
        #expect(verifier.principal(from: header, at: Self.now + 1_000) == nil)
    }

    @Test func `an invalid header is not cached as valid`() throws {
        let header = try ServiceClient.signer.header(for: .service("gateway"), at: Self.now)
        #expect(verifier.principal(from: header, at: Self.now - 91) == nil)
        #expect(verifier.principal(from: header, at: Self.now) == .service("gateway"))
        #expect(verifier.principal(from: header + "A", at: Self.now) == nil)
        let other = try PrincipalSigner(internalSecret: Secret("another-secret")).header(
            for: .service("gateway"), at: Self.now)
        #expect(verifier.principal(from: other, at: Self.now) == nil)
        #expect(verifier.principal(from: other, at: Self.now) == nil)
    }

    @Test func `headers beyond the cache's limit are still verified`() throws {
        for number in 0..<5_000 {
            let header = try ServiceClient.signer.header(for: .service("\(number)"), at: Self.now)
            #expect(verifier.principal(from: header, at: Self.now) == .service("\(number)"))
        }
    }
}
