import Crypto
import Foundation
import MartletCore
import MartletPushSimulator
import Testing

@testable import MartletPush

@Suite struct APNsProviderTokenTests {
    private let key = SimulatedKey(keyID: "ABC123DEFG", teamID: "TEAM123456")

    private func credential() throws -> APNsKey {
        try APNsKey(keyID: key.keyID, teamID: key.teamID, privateKey: Secret(key.pem))
    }

    private func claims(_ token: String) throws -> (header: String, issued: Int) {
        let parts = token.split(separator: ".")
        let signature = try P256.Signing.ECDSASignature(rawRepresentation: #require(Base64URL.decode(parts[2])))
        #expect(key.privateKey.publicKey.isValidSignature(signature, for: Data("\(parts[0]).\(parts[1])".utf8)))
        let json = try JSONValue(parsing: #require(Base64URL.decode(parts[1])))
        #expect(json["iss"] == .string("TEAM123456"))
        return (
            String(decoding: try #require(Base64URL.decode(parts[0])), as: UTF8.self), Int(json["iat"]?.text ?? "") ?? 0
        )
    }

    @Test func `A token is used for 20 to 60 minutes, and an older one is never sent`() throws {
        let token = APNsProviderToken(try credential())
        let start = Date(timeIntervalSince1970: 1_795_200_123)
        var seen: [String] = []
        var changes: [TimeInterval] = []
        for seconds in stride(from: 0.0, to: 24 * 3_600, by: 61) {
            let now = start + seconds
            let text = try token.text(at: now)
            if text != seen.last {
                seen.append(text)
                changes.append(seconds)
            }
            let age = now.timeIntervalSince1970 - Double(try claims(text).issued)
            guard age >= 0, age < 3_600 else { return #expect(Bool(false), "a token of \(age) s") }
        }
        #expect(Set(seen).count == seen.count && seen.count == 37)
        let gaps = zip(changes.dropFirst(2), changes.dropFirst()).map { $0 - $1 }
        #expect(gaps.allSatisfy { (1_200...3_600).contains($0) }, "\(gaps)")
    }

    @Test(arguments: [1, 1_199, 1_200, 2_399]) func `The first token, too, is used for 20 minutes`(age: Double) throws {
        let token = APNsProviderToken(try credential())
        let first = Date(timeIntervalSince1970: 1_795_200_000 + age)
        let text = try token.text(at: first)
        #expect(try token.text(at: first + 1_199) == text)
        let next = try token.text(at: first + 2_400)
        let issued = try claims(next).issued
        #expect(next != text && issued == 1_795_202_400)
    }

    @Test func `A token that APNs calls expired is replaced by a current one, which is used as long as any other`()
        throws
    {
        let token = APNsProviderToken(try credential())
        // After 30 minutes of its lifetime.
        let now = Date(timeIntervalSince1970: 1_795_200_000 + 1_800)
        let first = try token.text(at: now)
        #expect(try claims(first).issued == 1_795_200_000)
        #expect(token.renew(first, at: now))
        let second = try token.text(at: now)
        #expect(try claims(second).issued == 1_795_201_800)
        // Answers to earlier requests, and one that comes too soon for another token.
        #expect(token.renew(first, at: now + 1))
        #expect(try token.text(at: now + 1) == second)
        #expect(!token.renew(second, at: now + 1_199))
        #expect(try token.text(at: now + 2_399) == second)
        #expect(try claims(token.text(at: now + 2_400)).issued == 1_795_204_200)
        // The clock is corrected, backwards.
        #expect(try claims(token.text(at: now - 60)).issued == 1_795_200_000)
    }

    @Test func `Instances and restarts create the same token at the same time`() throws {
        let now = Date(timeIntervalSince1970: 1_795_200_123)
        let first = try claims(APNsProviderToken(try credential()).text(at: now))
        let second = try claims(APNsProviderToken(try credential()).text(at: now + 600))
        #expect(first.issued == second.issued && first.header == #"{"alg":"ES256","kid":"ABC123DEFG"}"#)
    }

    @Test func `An invalid key is refused and not shown`() {
        func error(_ keyID: String, _ teamID: String, _ text: String) -> PushCredentialError? {
            do {
                _ = try APNsKey(keyID: keyID, teamID: teamID, privateKey: Secret(text))
                return nil
            } catch {
                return error
            }
        }
        #expect(error("ABC123DEFG", "TEAM123456", key.pem) == nil)
        for identifier in ["", "abc123defg", "ABC123DEF", "ABC123DEFGH", #"ABC"23DEFG"#] {
            #expect(error(identifier, "TEAM123456", key.pem) == .invalidKeyID)
            #expect(error("ABC123DEFG", identifier, key.pem) == .invalidTeamID)
        }
        let other = P384.Signing.PrivateKey().pemRepresentation
        for text in [
            "", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----", other,
            key.privateKey.publicKey.pemRepresentation,
        ] {
            guard case .invalidPrivateKey? = error("ABC123DEFG", "TEAM123456", text) else {
                return #expect(Bool(false), "accepted: \(text)")
            }
        }
    }
}
